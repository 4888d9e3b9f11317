# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD115
# WHY: A CuPy graph captures an asynchronous copy from a plain numpy array (pageable), which the host fills before
#   launches.
import cupy as cp
import numpy as np

from cupy.cuda import runtime

host = np.zeros(1 << 20, dtype=np.float32)
device = cp.zeros(1 << 20, dtype=cp.float32)
total = cp.zeros(1 << 20, dtype=cp.float32)
stream = cp.cuda.Stream(non_blocking=True)


def upload(destination, source):
    to_device = runtime.memcpyHostToDevice
    runtime.memcpyAsync(destination.data.ptr, source.ctypes.data, source.nbytes, to_device, stream.ptr)  # MARK


def work():
    upload(device, host)
    for _ in range(20):
        cp.add(total, device, out=total)


cp.cuda.Device().synchronize()
with stream:
    work()
    stream.synchronize()
    stream.begin_capture()
    work()
    graph = stream.end_capture()
    for step in range(60):
        host[:] = step
        graph.launch(stream)
        if step % 30 == 29:
            stream.synchronize()
    stream.synchronize()
print("launched 60")

# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD109
# WHY: A temporary array inside a thread-local CuPy capture is larger than any block of the pool: cudaMalloc is refused.
import cupy as cp

x = cp.ones(1 << 22, dtype=cp.float32)
out = cp.zeros_like(x)
stream = cp.cuda.Stream(non_blocking=True)


def residual(values):
    return values - cp.float32(1.0)  # MARK


def work(values, into):
    cp.multiply(residual(values), cp.float32(2.0), out=into)


with stream:
    work(x[:1024], out[:1024])
    stream.synchronize()
    stream.begin_capture(cp.cuda.runtime.streamCaptureModeThreadLocal)
    failed = False
    try:
        work(x, out)
    except Exception:
        failed = True
    try:
        stream.end_capture()
    except Exception:
        failed = True
print("failed", failed)

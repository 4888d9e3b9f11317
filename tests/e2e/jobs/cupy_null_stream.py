# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD103
# WHY: A blocking CuPy stream captures; a helper of the library under it insists on the null stream.
import cupy as cp

a = cp.ones((512, 512), dtype=cp.float32)
b = cp.zeros_like(a)
c = cp.zeros_like(a)


def normalise(out):
    with cp.cuda.Stream.null:
        cp.multiply(out, cp.float32(0.5), out=c)  # MARK


def work():
    cp.add(a, a, out=b)
    normalise(b)
    cp.add(b, a, out=b)


work()
cp.cuda.Device().synchronize()
stream = cp.cuda.Stream()
with stream:
    stream.begin_capture(cp.cuda.runtime.streamCaptureModeThreadLocal)
    failed = False
    try:
        work()
    except Exception:
        failed = True
    try:
        graph = stream.end_capture()
    except Exception:
        failed = True
print("failed", failed)

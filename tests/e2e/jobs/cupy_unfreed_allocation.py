# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD405
# WHY: With CuPy's stream-ordered pool an array that is created inside the capture becomes an allocation node; it lives
#   on in Python, so no node frees it, and the second launch is refused.
import os
import cupy as cp

cp.cuda.set_allocator(cp.cuda.MemoryAsyncPool().malloc)
stream = cp.cuda.Stream(non_blocking=True)
with stream:
    x = cp.ones((2048, 2048), dtype=cp.float32)
    total = cp.zeros_like(x)


def work():
    squares = cp.multiply(x, x)  # MARK
    cp.add(total, squares, out=total)
    return squares


launched = 0
with stream:
    work()
    stream.synchronize()
    stream.begin_capture()
    kept = work()
    graph = stream.end_capture()
    try:
        for _ in range(4):
            graph.launch(stream)
            launched += 1
        stream.synchronize()
    except Exception:
        pass
print("launched", launched, flush=True)
os._exit(0)

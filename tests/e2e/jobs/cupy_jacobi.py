# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# ALONE: a steady state of less than two seconds
# WHY: CuPy captures Jacobi sweeps (a raw kernel, then elementwise kernels into given outputs) on a non-blocking
#   stream and launches them many times; results are read at the end.
import cupy as cp

sweep = cp.RawKernel(r'''
extern "C" __global__ void sweep(const float* in, float* out, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  if (x == 0 || y == 0 || x == n - 1 || y == n - 1) { out[y * n + x] = in[y * n + x]; return; }
  out[y * n + x] = 0.25f * (in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}''', "sweep")
N = 8192
a = cp.zeros((N, N), dtype=cp.float32)
a[0, :] = 1.0
b = cp.zeros_like(a)
change = cp.zeros_like(a)
grid, block = ((N + 31) // 32, (N + 7) // 8), (32, 8)


def iterate():
    for _ in range(4):
        sweep(grid, block, (a, b, cp.int32(N)))
        sweep(grid, block, (b, a, cp.int32(N)))
    cp.subtract(a, b, out=change)
    cp.multiply(change, change, out=change)


stream = cp.cuda.Stream(non_blocking=True)
cp.cuda.Device().synchronize()
with stream:
    for _ in range(2):
        iterate()
    stream.synchronize()
    stream.begin_capture()
    iterate()
    graph = stream.end_capture()
    for _ in range(150):
        graph.launch(stream)
    stream.synchronize()
print("warm %.3f settled %s" % (float(a[1, N // 2]), float(change.max()) < 1e-4))

# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD201
# WHY: An adaptive integrator in CuPy: the step width is a scalar argument of the raw kernel. The first steps run eagerly
#   with growing widths, then one step is captured; the host goes on adapting a number that no replay sees.
import cupy as cp

kick = cp.RawKernel(r'''
extern "C" __global__ void kick(float* position, float* velocity, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = velocity[i] - dt * sinf(position[i]);
  velocity[i] = v;
  position[i] += dt * v;
}''', "kick")
N = 1 << 24


class Integrator:
    def __init__(self):
        self.position = cp.linspace(-1, 1, N, dtype=cp.float32)
        self.velocity = cp.zeros(N, dtype=cp.float32)
        self.dt = 1e-4

    def adapt(self):
        self.dt = min(self.dt * 1.05, 1.0)

    def step(self):
        for _ in range(8):
            kick(((N + 255) // 256,), (256,), (self.position, self.velocity, cp.float32(self.dt), cp.int32(N)))  # MARK


system = Integrator()
stream = cp.cuda.Stream(non_blocking=True)
cp.cuda.Device().synchronize()
with stream:
    for _ in range(8):
        system.step()
        system.adapt()
    stream.synchronize()
    stream.begin_capture()
    system.step()
    graph = stream.end_capture()
    for _ in range(150):
        system.adapt()
        graph.launch(stream)
    stream.synchronize()
print("width grew to %.6f" % system.dt, "bounded", bool(cp.abs(system.position).max() < 10))

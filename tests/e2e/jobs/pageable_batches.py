# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD310
# WHY: Large batches are copied from pageable memory right before each replay: the device idles while the host stages.
import numpy as np
import torch


class Volumes:
    def __init__(self):
        rng = np.random.default_rng(14)
        self.volumes = [rng.standard_normal((64, 1 << 18), dtype=np.float32) for _ in range(2)]

    def feed(self, step, device_buffer):
        device_buffer.copy_(torch.from_numpy(self.volumes[step % 2]))  # MARK


data = Volumes()
static = torch.zeros(64, 1 << 18, device="cuda")
kernel = torch.randn(1 << 18, 64, device="cuda")


def project():
    h = torch.tanh(static)
    for _ in range(10):
        h = torch.tanh(h * 1.01)
    return (h @ kernel).sum()


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        project()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    result = project()
history = torch.zeros(120, device="cuda")
for step in range(120):
    data.feed(step, static)
    graph.replay()
    history[step].copy_(result)
print("volumes", history.cpu().numel())

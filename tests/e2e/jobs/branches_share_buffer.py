# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD217
# WHY: Two branches of a forked capture: one copies fresh values into a buffer, the other reads that buffer; both are
#   joined at the end, nothing orders them among themselves.
import torch

torch.manual_seed(16)
N = 1 << 22
target = torch.zeros(N, device="cuda")
source = torch.randn(N, device="cuda")
noise = torch.randn(N, device="cuda")
result = torch.zeros(N, device="cuda")
refresh_stream, use_stream = torch.cuda.Stream(), torch.cuda.Stream()


def step():
    origin = torch.cuda.current_stream()
    source.mul_(0.99)
    refresh_stream.wait_stream(origin)
    use_stream.wait_stream(origin)
    with torch.cuda.stream(refresh_stream):
        target.copy_(source)  # MARK
    with torch.cuda.stream(use_stream):
        torch.add(target, noise, out=result)  # MARK
    origin.wait_stream(refresh_stream)
    origin.wait_stream(use_stream)


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
for _ in range(200):
    graph.replay()
torch.cuda.synchronize()
print("finite", bool(torch.isfinite(result).all()))

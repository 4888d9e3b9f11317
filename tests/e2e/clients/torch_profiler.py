# SPDX-License-Identifier: Apache-2.0
"""A training loop under PyTorch's own profiler. Exits 0 when it ran to its end."""
import torch


def main():
    model = torch.nn.Linear(256, 256).cuda()
    x = torch.randn(64, 256, device="cuda")
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(5):
            model(x).sum().backward()
        torch.cuda.synchronize()
    print("profiled", "aten::linear" in {event.key for event in profiler.key_averages()})
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2.0
    graph.replay()
    torch.cuda.synchronize()
    print("replayed", bool((y == x * 2.0).all()))


main()

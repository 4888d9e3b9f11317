# SPDX-License-Identifier: Apache-2.0
"""A training loop under PyTorch's own profiler, then a captured one. Exits 0 when it ran to its end.

usage: torch_profiler.py [again]
  again   profiles a second time after the graph
"""
import sys

import torch


def main():
    model = torch.nn.Linear(256, 256).cuda()
    x = torch.randn(64, 256, device="cuda")

    def kernels(profiler):
        events = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
        return len({event.name for event in events}) > 2

    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(5):
            model(x).sum().backward()
        torch.cuda.synchronize()
    print("profiled", "aten::linear" in {event.key for event in profiler.key_averages()})
    print("kernels", kernels(profiler))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2.0
    graph.replay()
    torch.cuda.synchronize()
    print("replayed", bool((y == x * 2.0).all()))
    if "again" in sys.argv[1:]:
        with torch.profiler.profile(activities=activities) as profiler:
            model(x).sum().backward()
            torch.cuda.synchronize()
        print("kernels", kernels(profiler))


main()

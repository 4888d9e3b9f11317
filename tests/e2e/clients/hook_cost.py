# SPDX-License-Identifier: Apache-2.0
"""What following PyTorch's allocator costs: medians of eager steps and replays before and after the stacks end.

usage: hook_cost.py
Run it under `graphdoctor run --framework-hooks=auto` and `=off`, alternating. Prints one line a phase: median and longest
step in us; then how long the end of the program takes is the difference of END to the time after it.
"""
import statistics
import time

import torch

MODEL = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU()) for _ in range(24)]).cuda()
INPUT = torch.randn(64, 256, device="cuda")


def forget_gradients():
    for parameter in MODEL.parameters():
        parameter.grad = None


def step():
    forget_gradients()
    MODEL(INPUT).sum().backward()


def phase(name, run, rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e6)
    print("%-14s median %.1f longest %.0f" % (name, statistics.median(times), max(times)), flush=True)


def main():
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(10):
            step()
    torch.cuda.current_stream().wait_stream(side)
    phase("eager, stacks", step, 80)
    graph = torch.cuda.CUDAGraph()
    forget_gradients()
    with torch.cuda.graph(graph):
        MODEL(INPUT).sum().backward()
    phase("first replays", graph.replay, 200)
    time.sleep(2.5)  # the stacks end, and what there is is read
    phase("eager, plain", step, 120)
    phase("replays", graph.replay, 800)
    print("END %.3f" % time.monotonic())


main()

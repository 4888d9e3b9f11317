# SPDX-License-Identifier: Apache-2.0
"""What recording costs a PyTorch forward and backward, replayed from a graph or eager.

usage: torch_cost.py replay|eager off|light|standard|full|profiler|bare [ROUNDS]
In each round recording off, then at the level, through the job's own control page; `profiler` (in a bare process): PyTorch's
profiler stopped, then running. Two figures each: one step waited for, and one of steps queued back to back. Prints on
standard error `cost replay LEVEL waited RATIO MIN MAX off_us N queued RATIO MIN MAX off_us N`.
"""
import mmap
import os
import statistics
import struct
import sys
import time

import torch

LEVELS = {"off": 0, "history": 1, "light": 2, "standard": 3, "full": 4}


class ControlPage:
    """The first words of collector/raw/control_page.h: magic, version, level, window, flush request, generation."""

    def __init__(self):
        self.page = None
        spool = os.environ.get("GRAPHDOCTOR_SPOOL")
        if spool:
            with open(os.path.join(spool, "control"), "r+b") as file:
                self.page = mmap.mmap(file.fileno(), 4096)

    def set(self, level):
        if self.page is not None:
            self.page[8:12] = struct.pack("<I", level)
            self.page[20:24] = struct.pack("<I", struct.unpack("<I", self.page[20:24])[0] + 1)
            time.sleep(0.12)


def model():
    torch.manual_seed(1)
    layers = []
    for _ in range(24):
        layers += [torch.nn.Linear(512, 512), torch.nn.GELU()]
    return torch.nn.Sequential(*layers).cuda()


def captured(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def measure(run, count):
    waited = []
    for _ in range(count):
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        waited.append(time.perf_counter() - start)
    queued = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count // 5):
            run()
        torch.cuda.synchronize()
        queued.append((time.perf_counter() - start) / (count // 5))
    return statistics.median(waited) * 1e6, statistics.median(queued) * 1e6


def main():
    way, level = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    net = model()
    inputs = torch.randn(64, 512, device="cuda")

    def step():
        net.zero_grad(set_to_none=True)
        net(inputs).square().mean().backward()

    run = captured(step) if way == "replay" else step
    count = 150 if way == "replay" else 60
    page = ControlPage()
    measure(run, count)
    ratios, offs = ([], []), ([], [])
    for _ in range(rounds):
        page.set(0)
        off = measure(run, count)
        if level == "profiler":
            with torch.profiler.profile():
                run()  # its own start is not a step's cost
                torch.cuda.synchronize()
                on = measure(run, count)
        else:
            page.set(LEVELS.get(level, 0))
            if LEVELS.get(level, 0) > 2:
                for _ in range(20):  # steady state
                    run()
                torch.cuda.synchronize()
            on = measure(run, count)
        for i in range(2):
            ratios[i].append(on[i] / off[i])
            offs[i].append(off[i])
    text = ["cost %s %s" % (way, level)]
    for i, what in enumerate(("waited", "queued")):
        text.append("%s %.4f %.4f %.4f off_us %.1f" % (what, statistics.median(ratios[i]), min(ratios[i]), max(ratios[i]),
                                                       statistics.median(offs[i])))
    print(" ".join(text), file=sys.stderr)
    print("done")


main()

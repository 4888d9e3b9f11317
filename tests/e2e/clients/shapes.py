# SPDX-License-Identifier: Apache-2.0
"""Training steps whose batches do not all fit the graph.

usage: shapes.py recapture|fallback
  recapture   every step has a shape of its own, and every step captures a graph for it
  fallback    one graph; every third batch is refused by it and runs as single launches, silently
Prints "done".
"""
import sys

import torch

WIDTH = 512


def forward(x, weights):
    for weight in weights:
        x = torch.nn.functional.gelu(x @ weight)
    return x.sum(dim=1)


def captured(x, weights):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        forward(x, weights)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = forward(x, weights)
    return graph, out


def recapture(weights):
    for step in range(40):
        torch.cuda.nvtx.range_push("step")
        x = torch.randn(64 + 8 * step, WIDTH, device="cuda")
        graph, _ = captured(x, weights)
        graph.replay()
        torch.cuda.nvtx.range_pop()


def fallback(weights):
    static = torch.randn(256, WIDTH, device="cuda")
    graph, _ = captured(static, weights)
    for step in range(60):
        torch.cuda.nvtx.range_push("step")
        if step % 3 == 2:
            forward(torch.randn(256, WIDTH, device="cuda"), weights)
        else:
            static.normal_()
            graph.replay()
        torch.cuda.nvtx.range_pop()


def main():
    weights = [torch.randn(WIDTH, WIDTH, device="cuda") / WIDTH**0.5 for _ in range(8)]
    {"recapture": recapture, "fallback": fallback}[sys.argv[1]](weights)
    torch.cuda.synchronize()
    print("done")


main()

# SPDX-License-Identifier: Apache-2.0
"""A training step that reads a loss while its graph is being captured.

usage: item_in_capture.py [plain|deep|hook]
Prints MARK with the line that breaks the capture. Exits 0 when the capture failed as expected.
"""
import inspect
import sys

import torch

WHERE = {}


def mark():
    """Remembers the caller's next line."""
    frame = inspect.currentframe().f_back
    WHERE.setdefault("line", frame.f_lineno + 1)


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 64)

    def forward(self, x):
        y = self.linear(x)
        mark()
        scale = y.abs().max().item()
        return y / (scale + 1.0)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = Head()

    def forward(self, x):
        return self.head(x)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x)


def plain(x):
    y = x * 2.0
    mark()
    return y.sum().item()


def log_gradient(gradient):
    mark()
    print("gradient", gradient.sum().item())
    return gradient


def main():
    way = sys.argv[1] if len(sys.argv) > 1 else "plain"
    x = torch.randn(64, 64, device="cuda")
    model = Model().cuda()
    weight = torch.randn(64, 64, device="cuda", requires_grad=True)

    def step():
        if way == "plain":
            plain(x)
        elif way == "deep":
            model(x)
        else:
            y = (x @ weight).relu()
            y.register_hook(log_gradient)
            y.sum().backward()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    print("MARK %s:%d" % (__file__, WHERE["line"]), flush=True)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            step()
    except Exception as error:  # the capture is broken, as expected
        print("capture failed: %s" % str(error).splitlines()[0])
        sys.exit(0)
    print("capture did not fail")
    sys.exit(1)


main()

# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD108
# WHY: capture_begin() by hand; a shape check raises before capture_end(), the handler goes on with eager steps.
import os
import sys

import torch

model = torch.nn.Linear(256, 256).cuda()
x = torch.randn(64, 256, device="cuda")
stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream), torch.no_grad():
    for _ in range(3):
        model(x)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()


def check(y, expected):
    if y.shape[1] != expected:
        raise ValueError("unexpected width")


def build():
    with torch.cuda.stream(stream), torch.no_grad():
        graph.capture_begin()  # MARK
        y = model(x)
        check(y, 128)
        graph.capture_end()


try:
    build()
except ValueError as error:
    print("no graph:", error)
try:
    torch.cuda.synchronize()
    print("synchronised")
except RuntimeError:
    print("synchronize failed", flush=True)
sys.stdout.flush()
os._exit(0)

# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD104
# WHY: Gradient statistics go to a side stream that is forked into the capture and never joined.
import torch

torch.manual_seed(11)
w = torch.randn(512, 512, device="cuda", requires_grad=True)
x = torch.randn(256, 512, device="cuda")
stats = torch.zeros(2, device="cuda")
statistics_stream = torch.cuda.Stream()


def collect(gradient):
    statistics_stream.wait_stream(torch.cuda.current_stream())  # MARK
    with torch.cuda.stream(statistics_stream):
        stats[0].copy_(gradient.abs().max())


def step():
    (g,) = torch.autograd.grad((x @ w).square().mean(), (w,))
    collect(g)
    with torch.no_grad():
        w.sub_(g, alpha=0.01)


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
try:
    with torch.cuda.graph(graph):
        step()
    print("captured")
except RuntimeError:
    print("not captured")

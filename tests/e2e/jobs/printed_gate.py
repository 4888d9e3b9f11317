# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD101
# WHY: A debug print of a tensor in a module three levels down; it prints at every 4th forward, and the 4th is the
#   capture.
import torch
import torch.nn as nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        score = torch.sigmoid(x.mean())
        if self.calls % 4 == 0:
            print("gate is", score)  # MARK
        return x * score


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleDict({"gate": Gate(), "proj": nn.Linear(256, 256)})

    def forward(self, x):
        return self.inner["proj"](self.inner["gate"](x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([Expert()])

    def forward(self, x):
        return sum(e(x) for e in self.experts)


torch.manual_seed(0)
net = Net().cuda()
x = torch.zeros(64, 256, device="cuda")
with torch.no_grad():
    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        for _ in range(3):
            net(x)
    torch.cuda.current_stream().wait_stream(s)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(g):
            y = net(x)
    except RuntimeError:
        print("capture failed, going on without a graph", flush=True)

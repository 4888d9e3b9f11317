# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD101 | GD109
# WHY: A GCN's forward is captured. GCNConv adds self loops in every call and masks those that are there already by a
#   boolean index, whose size the host reads. Normalising once outside (or cached=True) would do.
import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv

torch.manual_seed(51)
NODES, EDGES = 10000, 80000


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(64, 128), GCNConv(128, 16)

    def forward(self, x, edges):
        x = F.relu(self.first(x, edges))  # MARK
        return F.log_softmax(self.second(x, edges), dim=1)


with torch.no_grad():
    net = Net().cuda().eval()
    x = torch.randn(NODES, 64, device="cuda")
    edges = torch.randint(0, NODES, (2, EDGES), device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            net(x, edges)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    captured = True
    try:
        with torch.cuda.graph(graph):
            net(x, edges)
    except RuntimeError:
        captured = False
print("captured", captured, flush=True)

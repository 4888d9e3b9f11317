# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# ALONE: a steady state of less than two seconds
# WHY: GraphSAGE on sampled subgraphs: every mini-batch is padded to fixed numbers of nodes and edges (surplus edges end
#   at a dummy node), copied into static tensors, and the whole training step is one graph.
import torch
import torch.nn.functional as F
from torch_geometric.nn import SAGEConv

torch.manual_seed(52)
torch.set_float32_matmul_precision("high")
NODES, EDGES = 40000, 300000
first, second = SAGEConv(256, 512).cuda(), SAGEConv(512, 32).cuda()
parameters = [*first.parameters(), *second.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3, capturable=True)
x = torch.zeros(NODES + 1, 256, device="cuda")
edges = torch.full((2, EDGES), NODES, device="cuda")
labels = torch.zeros(NODES + 1, dtype=torch.long, device="cuda")


def subgraph(seed):
    g = torch.Generator().manual_seed(seed)
    n = 30000 + seed * 3000
    m = 250000 + seed * 15000
    nodes = torch.randn(n, 256, generator=g)
    return nodes.cuda(), torch.randint(0, n, (2, m), generator=g).cuda(), (nodes[:, :32].argmax(1)).cuda()


def train_step():
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(second(F.relu(first(x, edges)), edges)[:NODES], labels[:NODES])
    loss.backward()
    optimizer.step()
    return loss


def load(batch):
    nodes, links, classes = batch
    x[: nodes.shape[0]].copy_(nodes)
    x[nodes.shape[0] :].zero_()
    edges.fill_(NODES)
    edges[:, : links.shape[1]].copy_(links)
    labels[: classes.shape[0]].copy_(classes)


batches = [subgraph(i) for i in range(3)]
load(batches[0])
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        train_step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = train_step()
losses = torch.zeros(250, device="cuda")
for step in range(250):
    load(batches[step % 3])
    graph.replay()
    losses[step].copy_(loss)
values = losses.tolist()
print("steps", len(values), "loss fell", values[-1] < values[0])

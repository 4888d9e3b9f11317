# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# ALONE: a steady state of less than a second
# WHY: A launch-bound model whose whole training step (forward, backward, Adam with capturable=True) is one graph, with
#   inputs copied from pinned memory ahead of time and the losses read at the end. What graphs are for.
import torch
import torch.nn as nn

torch.manual_seed(5)
WIDTH, BATCH, STEPS = 256, 64, 500
model = nn.Sequential(
    *(nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(16)), nn.Linear(WIDTH, 10)
).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=True)
batch = torch.randn(BATCH, WIDTH, device="cuda")
labels = torch.randint(0, 10, (BATCH,), device="cuda")
batches = [torch.randn(BATCH, WIDTH).pin_memory() for _ in range(4)]


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(batch), labels)
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(6):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    loss = step()
losses = torch.zeros(STEPS, device="cuda")
for number in range(STEPS):
    batch.copy_(batches[number % 4], non_blocking=True)
    graph.replay()
    losses[number].copy_(loss)
values = losses.tolist()
print("steps", len(values), "finite", all(v == v for v in values))

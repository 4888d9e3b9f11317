# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD307
# WHY: A training step of four large linear layers (8192 wide, bf16), captured as documented after a warm-up on a side
#   stream. Nothing is wrong but the hope: launched singly the same kernels keep the device busy all the time, so the graph
#   gains next to nothing.
import torch

torch.manual_seed(7)
WIDTH, BATCH = 8192, 8192
model = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) for _ in range(4)))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
batch = torch.randn(BATCH, WIDTH, device="cuda", dtype=torch.bfloat16)
target = torch.randn(BATCH, WIDTH, device="cuda", dtype=torch.bfloat16)
batches = [torch.randn_like(batch) for _ in range(3)]


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.mse_loss(model(batch), target)
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
with torch.cuda.graph(graph):  # MARK
    loss = step()
losses = torch.zeros(80, device="cuda")
for number in range(80):
    batch.copy_(batches[number % 3])
    graph.replay()
    losses[number].copy_(loss)
values = losses.tolist()
print("steps", len(values), "finite", all(v == v for v in values))

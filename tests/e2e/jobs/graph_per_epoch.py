# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# WHY: Progressive resizing: each of six epochs has its own batch size, so the graph of the last epoch is reset and the
#   step captured again, once in 400 steps. Inputs are copied into the static batch.
import torch
import torch.nn as nn

torch.manual_seed(37)
torch.set_float32_matmul_precision("high")
model = nn.Sequential(nn.Linear(2048, 4096), nn.GELU(), nn.Linear(4096, 2048)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(1e-4, device="cuda"), capturable=True)
data = torch.randn(4 * 8192, 2048, device="cuda")
graph = torch.cuda.CUDAGraph()


def train_step(x):
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(model(x), x.roll(1, dims=1))
    loss.backward()
    optimizer.step()
    return loss


def capture(x):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            train_step(x)
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        return train_step(x)


curve = []
for epoch, batch in enumerate([4096, 4608, 5120, 6144, 7168, 8192]):
    x = data[:batch].clone()
    loss = capture(x)
    for step in range(400):
        start = (step * 4096) % (data.shape[0] - batch)
        x.copy_(data[start : start + batch])
        graph.replay()
    curve.append(loss.item())
    del loss
    graph.reset()
print("epochs", len(curve), "loss fell", curve[-1] < curve[0])

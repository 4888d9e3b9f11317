# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD201
# WHY: SGD with a Python float rate: a scheduler raises it in the eager warm-up and goes on beside the replays, which
#   keep the rate of the capture.
import torch

torch.manual_seed(3)
torch.set_float32_matmul_precision("high")
model = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(2048, 2048), torch.nn.GELU())]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=100)
x = torch.randn(4096, 2048, device="cuda")
y = torch.randn(4096, 2048, device="cuda")


def train_step():
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()  # MARK
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(12):
        train_step()
        scheduler.step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):  # MARK
    loss = train_step()  # MARK
losses = torch.zeros(120, device="cuda")
for step in range(120):
    graph.replay()
    scheduler.step()
    losses[step].copy_(loss)
print("steps", len(losses.tolist()), "rate %.4f" % scheduler.get_last_lr()[0])

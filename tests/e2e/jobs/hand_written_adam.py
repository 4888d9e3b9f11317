# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD201
# WHY: A hand-written Adam counts its steps in Python; the bias corrections are Python floats. In the captured step they
#   stay those of the sixth step for the rest of the training.
import math
import torch
import torch.nn as nn

torch.manual_seed(44)
torch.set_float32_matmul_precision("high")


class Adam:
    def __init__(self, params, lr, betas=(0.9, 0.999)):
        self.params, self.lr, self.betas, self.t = list(params), lr, betas, 0
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        self.t += 1
        b1, b2 = self.betas
        rate = self.lr * math.sqrt(1 - b2**self.t) / (1 - b1**self.t)
        for p, m, v in zip(self.params, self.m, self.v):
            m.mul_(b1).add_(p.grad, alpha=1 - b1)
            v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
            p.addcdiv_(m, v.sqrt().add_(1e-8), value=-rate)  # MARK


model = nn.Sequential(nn.Linear(2048, 4096), nn.GELU(), nn.Linear(4096, 2048)).cuda()
optimizer = Adam(model.parameters(), lr=1e-4)
x = torch.randn(8192, 2048, device="cuda")


def train_step():
    for p in model.parameters():
        p.grad = None
    loss = nn.functional.mse_loss(model(x), x)
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(5):
        train_step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = train_step()
losses = torch.zeros(200, device="cuda")
for step in range(200):
    graph.replay()
    losses[step].copy_(loss)
values = losses.tolist()
print("steps counted", optimizer.t, "loss fell", values[-1] < values[0])

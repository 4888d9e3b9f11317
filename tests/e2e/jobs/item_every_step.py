# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD302
# WHY: loss.item() after each replay for a moving average and an early-stopping test: the device runs dry every step
#   while the host does its bookkeeping.
import collections
import json
import torch

torch.manual_seed(7)
torch.set_float32_matmul_precision("high")
model = torch.nn.Sequential(*[m for _ in range(3) for m in (torch.nn.Linear(2048, 2048), torch.nn.ReLU())]).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, capturable=True)
x = torch.randn(4096, 2048, device="cuda")


class EarlyStopping:
    def __init__(self):
        self.window = collections.deque(maxlen=200)
        self.lines = []

    def update(self, step, loss):
        value = loss.item()  # MARK
        self.window.append(value)
        ranked = sorted(list(self.window) * 10)
        self.lines.append(json.dumps({"step": step, "loss": value, "quantiles": ranked[:: max(1, len(ranked) // 50)]}))
        return False


def train_step():
    optimizer.zero_grad(set_to_none=True)
    loss = (model(x) - x).square().mean()
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        train_step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = train_step()
stopping = EarlyStopping()
for step in range(250):
    graph.replay()
    if stopping.update(step, loss):
        break
print("logged", len(stopping.lines))

# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD114
# WHY: The weights' moving average is updated on a stream of its own that is never forked into the capture: it runs once
#   and no replay ever updates the average.
import torch

torch.manual_seed(10)
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True)
x, y = torch.randn(4096, 1024, device="cuda"), torch.randn(4096, 1024, device="cuda")


class Ema:
    def __init__(self, parameters):
        self.parameters = list(parameters)
        self.average = [p.detach().clone() for p in self.parameters]
        self.stream = torch.cuda.Stream()

    @torch.no_grad()
    def update(self):
        with torch.cuda.stream(self.stream):
            torch._foreach_lerp_(self.average, self.parameters, 0.01)  # MARK


ema = Ema(model.parameters())


def train_step():
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    ema.update()
    return loss


torch.cuda.synchronize()
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        train_step()
torch.cuda.current_stream().wait_stream(side)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = train_step()
for step in range(100):
    graph.replay()
print("finite", bool(torch.isfinite(loss)))

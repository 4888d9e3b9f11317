# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD101
# WHY: The whole fp16 step is captured, GradScaler included: scaler.step() of an optimizer that is not fused asks the
#   device with .item() whether a gradient overflowed. The trainer falls back to eager steps.
import torch
import torch.nn as nn

torch.manual_seed(33)
model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, foreach=True)
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
x = torch.randn(256, 512, device="cuda")
y = x.mean(dim=1, keepdim=True)


def train_step():
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.float16, cache_enabled=False):
        loss = nn.functional.mse_loss(model(x).float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)  # MARK
    scaler.update()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        train_step()
torch.cuda.current_stream().wait_stream(side)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
captured = True
try:
    with torch.cuda.graph(graph):
        train_step()
except RuntimeError:
    captured = False
print("captured", captured, flush=True)

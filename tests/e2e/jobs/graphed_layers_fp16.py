# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# WHY: make_graphed_callables around three layers with fp16 autocast (cache off), GradScaler with a fused optimizer (no
#   host read of found_inf), data-dependent eager part between the graphed layers.
import torch
import torch.nn as nn

torch.manual_seed(4)
WIDTH, BATCH = 4096, 8192
first = nn.Sequential(nn.Linear(512, WIDTH), nn.ReLU()).cuda()
second = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.GELU()).cuda()
third = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1)).cuda()
parameters = [p for m in (first, second, third) for p in m.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-4, fused=True)
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
x0 = torch.randn(BATCH, 512, device="cuda")
h0 = torch.randn(BATCH, WIDTH, device="cuda", dtype=torch.float16, requires_grad=True)
with torch.autocast("cuda", torch.float16, cache_enabled=False):
    first, second, third = torch.cuda.make_graphed_callables((first, second, third), ((x0,), (h0,), (h0,)))

data = [torch.randn(BATCH, 512, device="cuda") for _ in range(3)]
targets = [d.square().mean(dim=1, keepdim=True) for d in data]
losses = torch.zeros(150, device="cuda")
for step in range(150):
    x, y = data[step % 3], targets[step % 3]
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.float16, cache_enabled=False):
        h = first(x)
        h = second(h) + h if step % 2 else second(h)
        loss = nn.functional.mse_loss(third(h.half()).float(), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    losses[step].copy_(loss.detach())
values = losses.tolist()
print("loss fell", values[-1] < values[0], "finite", bool(torch.isfinite(losses).all()))

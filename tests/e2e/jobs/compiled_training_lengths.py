# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD305 | GD401 | GD709
# WHY: torch.compile(mode="reduce-overhead") trains on batches cut to their longest sequence: dynamic shapes, one more
#   forward and backward graph for each of 40 lengths. Most steps warm up or record, few replay.
import random
import torch
import torch.nn as nn

torch.manual_seed(31)
random.seed(31)
torch.set_float32_matmul_precision("high")
model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512), nn.LayerNorm(512), nn.Linear(512, 32)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
step_model = torch.compile(model, mode="reduce-overhead", dynamic=True)
corpus = torch.randn(16, 640, 512, device="cuda")
targets = corpus[..., :32].tanh()
lengths = [320 + 8 * i for i in range(40)] * 4
random.shuffle(lengths)
losses = torch.zeros(len(lengths), device="cuda")
for step, length in enumerate(lengths):
    torch.compiler.cudagraph_mark_step_begin()
    out = step_model(corpus[:, :length].contiguous())
    loss = nn.functional.mse_loss(out, targets[:, :length])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses[step].copy_(loss.detach())
values = losses.tolist()
print("steps", len(values), "loss fell", values[-1] < values[0])

# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# WHY: A transformer's whole step (dropout, clipping, fused AdamW capturable) is one graph. The learning rate is a
#   tensor that a cosine schedule fills before each replay, also during the eager warm-up.
import math
import torch
import torch.nn as nn

torch.manual_seed(8)
torch.set_float32_matmul_precision("high")
layer = nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.1, batch_first=True, norm_first=True)
model = nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(1024, 64)).cuda()
lr = torch.tensor(1e-5, device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True, capturable=True)
static_x = torch.randn(16, 256, 1024, device="cuda")
static_y = torch.randint(0, 64, (16, 256), device="cuda")


def schedule(step):
    warm = min(1.0, (step + 1) / 8)
    optimizer.param_groups[0]["lr"].fill_(2e-4 * warm * (0.55 + 0.45 * math.cos(step / 60)))


def train_step():
    optimizer.zero_grad(set_to_none=True)
    logits = model(static_x)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), static_y.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for step in range(6):
        schedule(step)
        train_step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = train_step()
batches = [(torch.randn(16, 256, 1024, device="cuda"), torch.randint(0, 64, (16, 256), device="cuda")) for _ in range(2)]
losses = torch.zeros(200, device="cuda")
for step in range(200):
    schedule(6 + step)
    static_x.copy_(batches[step % 2][0])
    static_y.copy_(batches[step % 2][1])
    graph.replay()
    losses[step].copy_(loss)
values = losses.tolist()
print("loss fell", values[-1] < values[0])

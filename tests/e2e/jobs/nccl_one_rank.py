# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# ALONE: a steady state of less than two seconds
# WHY: A data-parallel step written by hand, started with one rank: gradients are flattened and all-reduced by NCCL
#   inside the captured step (thread_local because of the watchdog). The graph is dropped before the process group.
import torch
import torch.distributed as dist
import torch.nn as nn

torch.cuda.set_device(0)
dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1, device_id=torch.device("cuda", 0))
torch.manual_seed(47)
torch.set_float32_matmul_precision("high")
model = nn.Sequential(nn.Linear(2048, 4096), nn.GELU(), nn.Linear(4096, 2048)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=True)
for p in model.parameters():
    dist.broadcast(p.data, 0)
x = torch.randn(8192, 2048, device="cuda")


def train_step():
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(model(x), x)
    loss.backward()
    grads = [p.grad for p in model.parameters()]
    flat = torch.cat([g.flatten() for g in grads])
    dist.all_reduce(flat)
    flat.div_(dist.get_world_size())
    for g, part in zip(grads, flat.split([g.numel() for g in grads])):
        g.copy_(part.view_as(g))
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(11):
        train_step()
torch.cuda.current_stream().wait_stream(side)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, capture_error_mode="thread_local"):
    loss = train_step()
losses = torch.zeros(250, device="cuda")
for step in range(250):
    graph.replay()
    losses[step].copy_(loss)
values = losses.tolist()
print("steps", len(values), "loss fell", values[-1] < values[0], flush=True)
torch.cuda.synchronize()
del loss
graph.reset()
dist.destroy_process_group()

# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# WHY: accelerate trains eagerly (gradient accumulation, bf16); every 25 steps the model is evaluated by a graph
#   captured once from the same weights. Training cannot use that graph: its eager forward is no fallback.
import torch
import torch.nn as nn
from accelerate import Accelerator

torch.manual_seed(2)
accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, fused=True)
data = torch.randn(8192, 1024)
labels = data[:, :10].argmax(dim=1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data, labels), batch_size=None, sampler=
                                     torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(data), 4096, True))
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 50, 0.9)
model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
batches = [(x.to(accelerator.device), y.to(accelerator.device)) for x, y in loader]

static_x = torch.randn(4096, 1024, device=accelerator.device)
graph = torch.cuda.CUDAGraph()


@torch.no_grad()
def evaluate():
    return model(static_x).float().argmax(dim=1)


model.eval()
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side), torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
    for _ in range(3):
        evaluate()
torch.cuda.current_stream().wait_stream(side)
with torch.cuda.graph(graph), torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
    predicted = evaluate()

accuracy = []
for step in range(200):
    x, y = batches[step % len(batches)]
    model.train()
    with accelerator.accumulate(model):
        loss = nn.functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    if step % 25 == 24:
        model.eval()
        static_x.copy_(batches[0][0])
        graph.replay()
        accuracy.append((predicted == batches[0][1]).float().mean())
values = torch.stack(accuracy).tolist()
print("evaluations", len(values), "better", values[-1] > values[0])

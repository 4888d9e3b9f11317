# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# ALONE: a steady state of less than two seconds
# WHY: The augmentation draws its noise from a generator of its own that is registered with the graph; dropout uses the
#   default one. Both get a new offset with every replay, seeds stay: the documented way, no frozen random numbers.
import torch
import torch.nn as nn

torch.manual_seed(34)
torch.set_float32_matmul_precision("high")
model = nn.Sequential(nn.Linear(2048, 4096), nn.GELU(), nn.Dropout(0.1), nn.Linear(4096, 2048)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=True)
noise = torch.Generator(device="cuda")
noise.manual_seed(77)
clean = torch.randn(8192, 2048, device="cuda")
drawn = torch.zeros((), device="cuda")


def train_step():
    optimizer.zero_grad(set_to_none=True)
    jitter = torch.empty_like(clean).normal_(generator=noise)
    drawn.copy_(jitter[0, 0])
    loss = nn.functional.mse_loss(model(clean + 0.1 * jitter), clean)
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(4):
        train_step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
graph.register_generator_state(noise)
with torch.cuda.graph(graph):
    loss = train_step()
samples = torch.zeros(250, device="cuda")
losses = torch.zeros(250, device="cuda")
for step in range(250):
    graph.replay()
    samples[step].copy_(drawn)
    losses[step].copy_(loss)
values = losses.tolist()
print("loss fell", values[-1] < values[0], "all different", len(set(samples.tolist())) > 240)

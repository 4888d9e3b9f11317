# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD202
# WHY: The loop binds a new tensor to batch["x"] where it had to copy into the captured one: its block is freed, handed
#   out again, and the replays read whatever lies there.
import torch

torch.manual_seed(4)
layers = [torch.randn(2048, 2048, device="cuda") / 45 for _ in range(6)]
source = [torch.randn(8192, 2048) for _ in range(3)]
batch = {"x": source[0].cuda()}


def forward():
    h = torch.tanh(batch["x"] * 0.5)
    for w in layers:
        h = torch.relu(h @ w)
    return h.mean()


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        forward()
torch.cuda.current_stream().wait_stream(side)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = forward()
results = torch.zeros(40, device="cuda")
scratch = []
for step in range(40):
    batch["x"] = source[step % 3].to("cuda")  # MARK
    if step == 5:
        scratch.append(torch.zeros(8192, 2048, device="cuda"))
    graph.replay()
    results[step].copy_(out)
print("read", results.cpu().numel())

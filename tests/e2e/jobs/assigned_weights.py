# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD202
# WHY: The server reloads its weights with load_state_dict(assign=True) to save a copy. The captured graph still reads
#   the old tensors, which nobody owns any more; the next allocations overwrite them.
import torch
import torch.nn as nn

torch.manual_seed(45)


def build():
    return nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(4096, 4096), nn.SiLU())]).cuda().bfloat16()


with torch.no_grad():
    model = build().eval()
    x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    for _ in range(3):
        model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    mean = torch.zeros(120, device="cuda")
    history = []
    for step in range(120):
        if step == 60:
            model.load_state_dict(build().state_dict(), assign=True)  # MARK
        graph.replay()
        mean[step].copy_(y.float().abs().mean())
        if step % 20 == 10:
            history.append(torch.zeros(4096, 4096, device="cuda", dtype=torch.bfloat16))
    torch.cuda.synchronize()
print("replays", mean.numel(), "snapshots", len(history))

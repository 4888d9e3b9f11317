# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# ALONE: a steady state of less than two seconds
# WHY: The right way to assigned_weights: new checkpoints are copied into the captured parameters (load_state_dict), the
#   loaded tensors are dropped afterwards, their memory is handed out again. The graph's addresses stay valid.
import torch
import torch.nn as nn

torch.manual_seed(46)


def build():
    return nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(4096, 4096), nn.SiLU())]).cuda().bfloat16()


with torch.no_grad():
    model = build().eval()
    x = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)
    for _ in range(3):
        model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    mean = torch.zeros(600, device="cuda")
    checkpoint = {name: torch.empty_like(t, device="cpu").normal_(0, 0.02).pin_memory() for name, t in model.state_dict().items()}
    for step in range(600):
        if step and step % 200 == 0:
            fresh = {name: t.to("cuda", non_blocking=True) for name, t in checkpoint.items()}
            model.load_state_dict(fresh)
            del fresh
        graph.replay()
        mean[step].copy_(y.float().abs().mean())
    values = mean.tolist()
print("replays", len(values), "weights used", values[199] != values[200])

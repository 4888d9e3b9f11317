# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD301 | GD310 | GD304
# WHY: Between two replays the host draws and sorts the next proposals with numpy for some milliseconds, though they do
#   not depend on the device at all: it could do so while the device works, or a batch ahead.
import numpy as np
import torch

rng = np.random.default_rng(43)
torch.manual_seed(43)
torch.set_float32_matmul_precision("high")
w = [torch.randn(2048, 2048, device="cuda") / 45 for _ in range(6)]
staging = [torch.zeros(2048, 2048).pin_memory() for _ in range(4)]
x = torch.zeros(2048, 2048, device="cuda")


def energy():
    h = x
    for m in w:
        h = torch.tanh(h @ m)
    return h.square().sum(dim=1)


def propose():
    walk = np.sort(rng.standard_normal((200, 2048)), axis=1)  # MARK
    return np.cumsum(walk, axis=0).astype(np.float32)


with torch.no_grad():
    for _ in range(3):
        energy()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = energy()
    lowest = torch.full((2048,), float("inf"), device="cuda")
    for step in range(250):
        proposals = propose()  # MARK
        slot = staging[step % 4]
        slot[:200].copy_(torch.from_numpy(proposals))
        x.copy_(slot, non_blocking=True)
        graph.replay()  # MARK
        torch.minimum(lowest, out, out=lowest)
    torch.cuda.synchronize()
print("steps 250 finite", bool(torch.isfinite(lowest).all()))

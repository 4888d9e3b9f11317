# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD201 | GD207
# WHY: A Triton kernel with its own dropout gets the seed as a Python number that the module counts up at each call. The
#   replays repeat the mask of the capture.
import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["seed"])
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    keep = tl.rand(seed, offsets) > p
    value = tl.load(x + offsets, mask=mask)
    tl.store(out + offsets, tl.where(keep, value / (1 - p), 0.0), mask=mask)


class SeededDropout(torch.nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p, self.seed = p, 1234

    def forward(self, x):
        self.seed += 7
        out = torch.empty_like(x)
        n = x.numel()
        dropout_kernel[(triton.cdiv(n, 1024),)](x, out, n, self.p, self.seed, BLOCK=1024)  # MARK
        return out


torch.manual_seed(35)
torch.set_float32_matmul_precision("high")
with torch.no_grad():
    layers = [torch.randn(2048, 2048, device="cuda") / 45 for _ in range(4)]
    dropout = SeededDropout(0.2)
    x = torch.randn(8192, 2048, device="cuda")

    def forward():
        h = x
        for w in layers:
            h = torch.relu(h @ w)
        return dropout(h)

    for _ in range(6):
        forward()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = forward()
    kept = torch.zeros(200, device="cuda")
    for step in range(200):
        graph.replay()
        kept[step].copy_((y == 0).sum())
    torch.cuda.synchronize()
print("replays", kept.numel(), "different masks", kept.unique().numel())

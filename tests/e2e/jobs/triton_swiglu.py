# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# ALONE: a steady state of less than two seconds
# WHY: An autotuned Triton kernel and products of PyTorch in one graph; one result is read at the end.
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 1024}, num_warps=4), triton.Config({"BLOCK": 2048}, num_warps=8)], key=["n"])
@triton.jit
def swiglu(a, b, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(a + offsets, mask=mask).to(tl.float32)
    y = tl.load(b + offsets, mask=mask).to(tl.float32)
    tl.store(out + offsets, (x * tl.sigmoid(x) * y).to(tl.bfloat16), mask=mask)


def apply(a, b):
    out = torch.empty_like(a)
    n = a.numel()
    swiglu[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](a, b, out, n)
    return out


torch.manual_seed(1)
with torch.no_grad():
    up = torch.randn(4096, 8192, device="cuda", dtype=torch.bfloat16) / 64
    gate = torch.randn(4096, 8192, device="cuda", dtype=torch.bfloat16) / 64
    down = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16) / 90
    x = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)

    def block(x):
        for _ in range(2):
            x = x + apply(x @ gate, x @ up) @ down
        return x

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            block(x)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = block(x)
    norms = torch.zeros(150, device="cuda")
    for step in range(150):
        x.mul_(0.99)
        graph.replay()
        norms[step].copy_(y.float().norm())
    values = norms.tolist()
print("norm shrinks", values[-1] < values[0])

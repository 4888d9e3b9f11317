# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD710
# WHY: One forward and one backward graph serve two micro-batches in flight: forward, forward, backward, backward. The
#   second forward overwrites what the first left for its backward.
import torch

torch.manual_seed(6)
w = (torch.randn(2048, 2048, device="cuda") / 45).requires_grad_()
b = torch.zeros(2048, device="cuda", requires_grad=True)
static_x = torch.randn(4096, 2048, device="cuda")
static_dy = torch.ones(4096, 2048, device="cuda")


def forward():
    return torch.tanh(torch.sigmoid(static_x @ w + b) * 2.0)


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        torch.autograd.grad(forward(), (w, b), static_dy)
torch.cuda.current_stream().wait_stream(side)
torch.cuda.synchronize()
pool = torch.cuda.graph_pool_handle()
fwd, bwd = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(fwd, pool=pool):
    y = forward()
with torch.cuda.graph(bwd, pool=pool):
    grads = torch.autograd.grad(y, (w, b), static_dy)
micro = [torch.randn(4096, 2048, device="cuda") for _ in range(2)]
total = torch.zeros(2048, 2048, device="cuda")
for step in range(80):
    torch.cuda.nvtx.range_push("train_step")
    for x in micro:
        static_x.copy_(x)
        fwd.replay()  # MARK
    for _ in micro:
        bwd.replay()
        total.add_(grads[0])
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
print("done", tuple(total.shape))

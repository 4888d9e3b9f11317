# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# ALONE: a steady state of less than two seconds
# WHY: Two graphs share one pool and are replayed in the order of their captures; the first forks three branches onto
#   side streams and joins them. Allocator with expandable segments, a small eager part between the two graphs.
import os
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
import torch

torch.manual_seed(9)
torch.set_float32_matmul_precision("high")
N = 4096
weights = [torch.randn(N, N, device="cuda") / N**0.5 for _ in range(5)]
static = torch.randn(N, N, device="cuda")
gate = torch.ones(N, 1, device="cuda")
branches = [torch.cuda.Stream() for _ in range(3)]


def encoder():
    x = torch.tanh(static @ weights[0])
    parts = []
    origin = torch.cuda.current_stream()
    for i, stream in enumerate(branches):
        stream.wait_stream(origin)
        with torch.cuda.stream(stream):
            parts.append(torch.relu(x @ weights[1 + i]))
    for stream in branches:
        origin.wait_stream(stream)
    return parts[0] + parts[1] + parts[2]


def decoder(hidden):
    return torch.softmax((hidden * gate) @ weights[4], dim=-1)


with torch.no_grad():
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            decoder(encoder())
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    pool = torch.cuda.graph_pool_handle()
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first, pool=pool):
        hidden = encoder()
    with torch.cuda.graph(second, pool=pool):
        out = decoder(hidden)
    sums = torch.zeros(200, device="cuda")
    for step in range(200):
        static.mul_(0.999)
        first.replay()
        gate.fill_(0.5 if step % 2 else 1.0)
        second.replay()
        sums[step].copy_(out.sum())
    values = sums.tolist()
print("rows sum to one", all(abs(v - N) < 1 for v in values))

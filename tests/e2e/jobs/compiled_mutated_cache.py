# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD709 | GD306 | GD307 | GD304
# ALONE: idle time of the device is what is judged
# WHY: Encoder and decode step are both compiled with reduce-overhead. The decode step writes into a cache that comes as
#   an argument: "skipping cudagraphs due to mutated inputs", said once in a log, and 30 launches a token go out singly.
import torch
import torch.nn as nn

torch.manual_seed(32)
torch.set_float32_matmul_precision("high")
DIM, CONTEXT, BATCH = 256, 320, 4


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)

    def forward(self, x, cache, pos):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        cache[0].index_copy_(1, pos, k)
        cache[1].index_copy_(1, pos, v)
        return x + self.out(nn.functional.scaled_dot_product_attention(q, cache[0], cache[1]))


with torch.no_grad():
    cells = nn.ModuleList(Cell() for _ in range(6)).cuda()
    encoder = nn.Sequential(nn.Linear(DIM, DIM), nn.GELU(), nn.Linear(DIM, DIM)).cuda()

    def decode(x, caches, pos):
        for cell, cache in zip(cells, caches):
            x = cell(x, cache, pos)
        return x

    encode = torch.compile(encoder, mode="reduce-overhead")
    decode = torch.compile(decode, mode="reduce-overhead")
    caches = [torch.zeros(2, BATCH, CONTEXT, DIM, device="cuda") for _ in cells]
    x = torch.randn(BATCH, 1, DIM, device="cuda")
    for token in range(300):
        torch.compiler.cudagraph_mark_step_begin()
        pos = torch.full((1,), token, device="cuda")
        x = decode(encode(x).clone(), caches, pos).tanh()
    total = float(x.abs().max())
print("tokens 300 bounded", total <= 1.0)

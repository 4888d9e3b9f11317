# SPDX-License-Identifier: Apache-2.0
"""The reference trainer's GPT in PyTorch, to compare tokens/s on the same GPU: bf16 autocast, fused AdamW, scaled dot
product attention; one optimizer step a micro-batch.

usage: torch_gpt.py LAYERS HIDDEN HEADS BATCH [eager|reduce-overhead]
"""
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SEQ, VOCAB = 1024, 50304


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.project = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.fc1, self.fc2 = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x, cos, sin):
        b, s, h = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, s, 3, self.heads, h // self.heads).unbind(2)
        q, k, v = (t.transpose(1, 2) for t in (rotate(q, cos, sin), rotate(k, cos, sin), v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(a.transpose(1, 2).reshape(b, s, h))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x)), approximate="tanh"))


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


class Gpt(nn.Module):
    def __init__(self, layers, hidden, heads):
        super().__init__()
        self.table = nn.Embedding(VOCAB, hidden)
        nn.init.normal_(self.table.weight, 0, 0.02)
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        size = hidden // heads
        angle = torch.arange(SEQ)[:, None] * 10000.0 ** (-torch.arange(0, size, 2) / size)
        self.register_buffer("cos", angle.cos()[None, :, None, :].bfloat16())
        self.register_buffer("sin", angle.sin()[None, :, None, :].bfloat16())

    def forward(self, tokens, targets):
        x = self.table(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits = F.linear(self.norm(x), self.table.weight)
        return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))


def main():
    layers, hidden, heads, batch = map(int, sys.argv[1:5])
    mode = sys.argv[5] if len(sys.argv) > 5 else "eager"
    torch.manual_seed(1)
    model = Gpt(layers, hidden, heads).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), fused=True)
    forward = torch.compile(model, mode=mode) if mode != "eager" else model
    tokens = torch.randint(0, 64, (batch, SEQ + 1), device="cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = forward(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    for _ in range(8):
        step()
    rates = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(5):
            step()
        torch.cuda.synchronize()
        rates.append(5 * batch * SEQ / (time.perf_counter() - start))
    rates.sort()
    print("%s: %d layers, hidden %d, batch %d: %.0f tokens/s (%.0f-%.0f), peak %.1f GiB" % (
        mode, layers, hidden, batch, rates[2], rates[0], rates[-1], torch.cuda.max_memory_allocated() / 2**30))


main()

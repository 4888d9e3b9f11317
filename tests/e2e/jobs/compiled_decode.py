# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# WHY: Generation with a static KV cache that is updated in place, decode step compiled with reduce-overhead, the next
#   token stays on the device, tokens are fetched once at the end.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
DIM, HEADS, LAYERS, VOCAB, CONTEXT, BATCH = 4096, 32, 3, 16000, 384, 128


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.out = nn.Linear(DIM, DIM, bias=False)
        shape = (BATCH, HEADS, CONTEXT, DIM // HEADS)
        self.register_buffer("k_cache", torch.zeros(shape, dtype=torch.bfloat16))
        self.register_buffer("v_cache", torch.zeros(shape, dtype=torch.bfloat16))

    def forward(self, x, pos, mask):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        self.k_cache.index_copy_(2, pos, k)
        self.v_cache.index_copy_(2, pos, v)
        y = F.scaled_dot_product_attention(q, self.k_cache, self.v_cache, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(b, t, DIM))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.n1, self.n2 = Attention(), nn.RMSNorm(DIM), nn.RMSNorm(DIM)
        self.up, self.down = nn.Linear(DIM, 2 * DIM, bias=False), nn.Linear(2 * DIM, DIM, bias=False)

    def forward(self, x, pos, mask):
        x = x + self.attention(self.n1(x), pos, mask)
        return x + self.down(F.silu(self.up(self.n2(x))))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(DIM, VOCAB, bias=False)
        self.register_buffer("causal", torch.tril(torch.ones(CONTEXT, CONTEXT, dtype=torch.bool)))

    def forward(self, tokens, pos):
        x = self.embed(tokens)
        mask = self.causal[None, None, pos]
        for block in self.blocks:
            x = block(x, pos, mask)
        return self.head(x[:, -1:])


def decode_one(model, token, pos):
    return model(token, pos).argmax(-1)


with torch.inference_mode():
    with torch.device("cuda"):
        model = Decoder().to(torch.bfloat16)
    prompt = torch.randint(0, VOCAB, (BATCH, 64), device="cuda")
    step = torch.compile(decode_one, mode="reduce-overhead", fullgraph=True)
    token = decode_one(model, prompt, torch.arange(64, device="cuda"))
    pos = torch.tensor([64], device="cuda")
    generated = [token]
    for _ in range(256):
        torch.compiler.cudagraph_mark_step_begin()
        token = step(model, token, pos).clone()
        generated.append(token)
        pos = pos + 1
    tokens = torch.cat(generated, dim=1).cpu()
print("tokens", tuple(tokens.shape), "in range", bool((tokens < VOCAB).all()))

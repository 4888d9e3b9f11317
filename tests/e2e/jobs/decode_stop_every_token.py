# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD302
# WHY: Streaming decode by a graph with a static cache. After every replay the token goes to the host (tolist) for the
#   stop test and the detokeniser; only then is the next replay launched, the device waits for both.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(39)
DIM, LAYERS, VOCAB, CONTEXT, BATCH = 1024, 4, 8000, 512, 8
WORDS = ["w%d" % i for i in range(VOCAB)]


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.qkv = nn.ModuleList(nn.Linear(DIM, 3 * DIM) for _ in range(LAYERS))
        mlps = (nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.SiLU(), nn.Linear(4 * DIM, DIM)) for _ in range(LAYERS))
        self.mlp = nn.ModuleList(mlps)
        self.register_buffer("cache", torch.zeros(LAYERS, 2, BATCH, CONTEXT, DIM))

    def forward(self, token, pos):
        x = self.embed(token)
        visible = torch.arange(CONTEXT, device=token.device)[None] <= pos
        for i in range(LAYERS):
            q, k, v = self.qkv[i](x).chunk(3, dim=-1)
            self.cache[i, 0].index_copy_(1, pos, k)
            self.cache[i, 1].index_copy_(1, pos, v)
            x = x + F.scaled_dot_product_attention(q, self.cache[i, 0], self.cache[i, 1], attn_mask=visible)
            x = x + self.mlp[i](x)
        token.copy_((x @ self.embed.weight.T).argmax(-1))
        pos.add_(1)


class Detokeniser:
    def __init__(self):
        self.texts = [[] for _ in range(BATCH)]

    def push(self, tokens):
        for text, (token,) in zip(self.texts, tokens):
            text.append(WORDS[token])
        return [" ".join(text).strip().upper() for text in self.texts]


with torch.inference_mode():
    model = Decoder().cuda()
    token, pos = torch.ones(BATCH, 1, dtype=torch.long, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")
    for _ in range(3):
        model(token, pos)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(token, pos)
    text, steps = Detokeniser(), 0
    while steps < 480:
        graph.replay()
        tokens = token.tolist()  # MARK
        shown = text.push(tokens)
        steps += 1
        if all(t == -1 for (t,) in tokens):
            break
print("steps", steps, "texts", len(shown))

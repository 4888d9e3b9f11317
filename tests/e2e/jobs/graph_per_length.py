# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD305 | GD401
# WHY: A server captures a graph for each new sequence length and keeps all of them, each with a pool of its own;
#   lengths hardly ever repeat.
import random
import torch

torch.manual_seed(8)
random.seed(8)
layers = [torch.randn(1024, 1024, device="cuda") / 32 for _ in range(6)]


def model(x):
    for w in layers:
        x = torch.nn.functional.silu(x @ w) + x
    return x


class GraphCache:
    def __init__(self):
        self.graphs = {}

    def run(self, x):
        entry = self.graphs.get(x.shape[0])
        if entry is None:
            entry = self.graphs[x.shape[0]] = self.capture(x)
        graph, static, out = entry
        static.copy_(x)
        graph.replay()
        return out

    def capture(self, x):
        static = x.clone()
        model(static)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # MARK
            out = model(static)
        return graph, static, out


cache = GraphCache()
with torch.no_grad():
    for request in range(120):
        length = 512 + 8 * random.randrange(0, 300)
        out = cache.run(torch.randn(length, 1024, device="cuda"))
torch.cuda.synchronize()
print("graphs", len(cache.graphs))

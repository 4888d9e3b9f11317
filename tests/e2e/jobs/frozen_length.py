# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD206
# WHY: Warm-up batches come in five lengths; then one graph of the shortest length serves all of them, longer ones are
#   cut.
import torch

torch.manual_seed(15)
scales = [torch.randn(1024, device="cuda") for _ in range(12)]
lengths = [512, 768, 1024, 1536, 2048]
data = [torch.randn(16 * n, 1024, device="cuda") for n in lengths]


def network(x):
    for s in scales:
        x = torch.tanh(x * s) + x
        x = torch.nn.functional.layer_norm(x, (1024,))
    return x


static = data[0].clone()
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for i in range(15):
        network(data[i % 5])
torch.cuda.current_stream().wait_stream(side)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = network(static)
for i in range(100):
    static.copy_(data[i % 5][: static.shape[0]])
    graph.replay()
torch.cuda.synchronize()
print("batches 100", tuple(out.shape))

# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD101 | GD109
# WHY: Token dropping by a boolean mask: the size of the result is read by the host (nonzero) inside the capture.
import torch
import torch.nn.functional as F

torch.manual_seed(1)
table = torch.randn(1000, 128, device="cuda")
weight = torch.randn(128, 128, device="cuda")
tokens = torch.randint(0, 1000, (4, 64), device="cuda")


def drop_padding(embedded, keep):
    return embedded[keep]  # MARK


def encode(ids):
    hidden = F.embedding(ids, table)
    packed = drop_padding(hidden, ids > 10)
    return F.relu(packed @ weight).sum()


stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    for _ in range(4):
        encode(tokens)
torch.cuda.current_stream().wait_stream(stream)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
failed = False
try:
    with torch.cuda.graph(graph, stream=stream):
        result = encode(tokens)
except RuntimeError:
    failed = True
print("failed", failed)

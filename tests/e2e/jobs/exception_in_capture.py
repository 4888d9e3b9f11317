# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# EXIT: 1
# WHY: An ordinary Python exception in the middle of a capture; the with block ends the capture properly, the job dies
#   with a traceback and status 1. No rule about graphs is broken.
import torch

x = torch.randn(256, 256, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        y = x @ x
torch.cuda.current_stream().wait_stream(side)
print("before", flush=True)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    settings = {"scale": 2}
    y = y * settings["scael"]
print("never reached")

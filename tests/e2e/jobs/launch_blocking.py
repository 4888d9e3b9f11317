# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD606
# WHY: CUDA_LAUNCH_BLOCKING=1 is set in the script's head, as one does to find an error, and was left there.
import os
os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
import torch

torch.manual_seed(12)
with torch.no_grad():
    model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(8)]).cuda().bfloat16()
    x = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    for _ in range(150):
        graph.replay()
    torch.cuda.synchronize()
print("shape", tuple(y.shape))

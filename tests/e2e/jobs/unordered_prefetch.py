# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD211 | GD204 | GD203
# WHY: A prefetcher copies the next batch straight into the graph's static input on its own stream. The replay waits for
#   the copy, but nothing makes the copy wait for the replay that still reads the batch before.
import torch
import torch.nn as nn

torch.manual_seed(40)
with torch.inference_mode():
    model = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(4096, 4096), nn.SiLU())]).cuda().bfloat16()
    static_x = torch.zeros(8192, 4096, device="cuda", dtype=torch.bfloat16)

    def forward():
        return (model(static_x) + static_x).float().mean(dim=1)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            forward()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = forward()
    host = [torch.randn(8192, 4096).bfloat16().pin_memory() for _ in range(3)]
    loader = torch.cuda.Stream()
    filled = torch.cuda.Event()
    sums = torch.zeros(200, device="cuda")

    def prefetch(batch):
        with torch.cuda.stream(loader):
            static_x.copy_(batch, non_blocking=True)  # MARK
            filled.record(loader)

    torch.cuda.synchronize()
    prefetch(host[0])
    for step in range(200):
        torch.cuda.current_stream().wait_event(filled)
        graph.replay()  # MARK
        sums[step].copy_(out[0])
        prefetch(host[(step + 1) % 3])
    torch.cuda.synchronize()
print("batches", sums.numel())

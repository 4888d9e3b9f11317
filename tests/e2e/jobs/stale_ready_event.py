# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD105
# WHY: The captured step waits for the prefetcher's "ready" event, which was recorded before the capture on its stream.
import torch


class Prefetcher:
    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.ready = torch.cuda.Event()
        self.host = torch.randn(256, 1024).pin_memory()
        self.buffer = torch.empty(256, 1024, device="cuda")

    def preload(self):
        with torch.cuda.stream(self.stream):
            self.buffer.copy_(self.host, non_blocking=True)
            self.ready.record()

    def next(self):
        torch.cuda.current_stream().wait_event(self.ready)  # MARK
        return self.buffer


prefetcher = Prefetcher()
weight = torch.randn(1024, 1024, device="cuda")
torch.cuda.synchronize()


def step():
    return torch.relu(prefetcher.next() @ weight).sum()


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        prefetcher.preload()
        step()
torch.cuda.current_stream().wait_stream(side)
prefetcher.preload()
graph = torch.cuda.CUDAGraph()
try:
    with torch.cuda.graph(graph):
        step()
    print("captured")
except RuntimeError:
    print("not captured")

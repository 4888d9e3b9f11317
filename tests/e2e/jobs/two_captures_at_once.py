# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD102
# WHY: A thread pool captures two models at the same time in the default (global) mode: the second one's torch.cuda.graph
#   synchronises the device first, which the first one's capture forbids. Both are lost, both serve eagerly.
import threading
from concurrent.futures import ThreadPoolExecutor
import torch

torch.manual_seed(48)
warm, started, tried = threading.Barrier(2), threading.Event(), threading.Event()


class Server:
    def __init__(self, width):
        self.w = torch.randn(width, width, device="cuda") / width**0.5
        self.x = torch.randn(512, width, device="cuda")
        self.stream = torch.cuda.Stream()
        torch.cuda.synchronize()

    def forward(self):
        return torch.relu(self.x @ self.w) @ self.w

    def capture(self, first):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self.stream):  # in this thread: cuBLAS keeps a handle for each
            for _ in range(3):
                self.forward()
        self.stream.synchronize()
        warm.wait()
        if not first:
            started.wait(10)
        try:
            with torch.cuda.graph(graph, stream=self.stream):  # MARK
                self.forward()
                if first:  # stands for a long capture
                    started.set()
                    tried.wait(10)
                self.forward()
        except RuntimeError:
            return False
        finally:
            tried.set()
        return True


servers = [Server(1024), Server(512)]
with ThreadPoolExecutor(2) as pool:
    captured = list(pool.map(Server.capture, servers, (True, False)))
print("captured", captured, flush=True)

# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD101
# WHY: A profiling callback, registered as a forward hook, synchronises the device; it is still registered when
#   captured.
import time
import torch


class LayerTimer:
    def __init__(self):
        self.started = 0.0
        self.seen = []

    def before(self, module, args):
        self.started = time.perf_counter()

    def after(self, module, args, output):
        torch.cuda.synchronize()  # MARK
        self.seen.append(time.perf_counter() - self.started)


timer = LayerTimer()
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).cuda()
model[2].register_forward_pre_hook(timer.before)
model[2].register_forward_hook(timer.after)
x = torch.randn(128, 512, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side), torch.no_grad():
    for _ in range(3):
        model(x)
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
try:
    with torch.no_grad(), torch.cuda.graph(graph, capture_error_mode="thread_local"):
        model(x)
    print("captured")
except RuntimeError:
    print("not captured after", len(timer.seen), "timed calls")

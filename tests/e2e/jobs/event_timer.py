# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD107 | GD101
# WHY: A phase timer of CUDA events reads the elapsed time right after the phase, also while the step is being captured.
import contextlib
import torch

names = []


@contextlib.contextmanager
def phase(name):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    yield
    end.record()
    end.synchronize()  # MARK
    names.append((name, begin.elapsed_time(end) >= 0))


x = torch.randn(2048, 2048, device="cuda")


def step():
    with phase("product"):
        y = x @ x
    with phase("activation"):
        return torch.tanh(y)


stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    for _ in range(3):
        step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
try:
    with torch.cuda.graph(graph):
        step()
    print("captured")
except RuntimeError:
    print("not captured; phases timed before:", len(names))

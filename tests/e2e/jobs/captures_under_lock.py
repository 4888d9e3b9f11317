# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# ALONE: a steady state of less than two seconds
# WHY: Four worker threads capture a model each; a lock lets one capture at a time and the mode is thread_local, while a
#   fifth thread copies batches and waits for its own stream all the time. Then all replay on streams of their own.
import threading
import torch
import torch.nn as nn

torch.manual_seed(49)
lock, barrier, stop = threading.Lock(), threading.Barrier(4), threading.Event()
sums = [0.0] * 4


def feed():
    stream = torch.cuda.Stream()
    host, device = torch.randn(1 << 20).pin_memory(), torch.zeros(1 << 20, device="cuda")
    while not stop.is_set():
        with torch.cuda.stream(stream):
            device.copy_(host, non_blocking=True)
        stream.synchronize()
        stop.wait(0.002)


@torch.no_grad()
def work(number):
    stream = torch.cuda.Stream()
    with lock:
        model = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(2048, 2048), nn.GELU())]).cuda().bfloat16()
        x = torch.full((8192, 2048), 0.1 * (number + 1), device="cuda", dtype=torch.bfloat16)
        torch.cuda.current_stream().synchronize()
        with torch.cuda.stream(stream):
            for _ in range(3):
                model(x)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            y = model(x).float().sum()
    barrier.wait()
    with torch.cuda.stream(stream):
        for step in range(400):
            graph.replay()
        sums[number] = y.item()


feeder = threading.Thread(target=feed, name="feeder")
workers = [threading.Thread(target=work, args=(i,), name="worker-%d" % i) for i in range(4)]
feeder.start()
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
stop.set()
feeder.join()
print("workers", len(workers), "finite", all(s == s for s in sums))

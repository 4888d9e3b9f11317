# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD102
# WHY: A heartbeat thread polls an event of earlier work with event.query(); one poll falls into a global-mode capture.
import threading
import time
import torch

stop = threading.Event()
trouble = []


def heartbeat(event):
    while not stop.is_set():
        try:
            event.query()  # MARK
        except Exception as error:
            trouble.append(type(error).__name__)
            return
        time.sleep(0.01)


x = torch.randn(1024, 1024, device="cuda")
y = x @ x
torch.cuda.synchronize()
done = torch.cuda.Event()
done.record()
watcher = threading.Thread(target=heartbeat, args=(done,), name="heartbeat")
watcher.start()
time.sleep(0.1)
graph = torch.cuda.CUDAGraph()
failed = False
try:
    with torch.cuda.graph(graph):
        for _ in range(60):
            y = torch.relu(x @ x)
            time.sleep(0.005)
except RuntimeError:
    failed = True
stop.set()
watcher.join()
print("capture failed", failed, "heartbeat died", bool(trouble))

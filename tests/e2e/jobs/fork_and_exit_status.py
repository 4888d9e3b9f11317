# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# EXIT: 3
# ALONE: a steady state of less than two seconds
# WHY: Forks a child before CUDA (it exits by os._exit(4)), runs a subprocess, captures in a worker thread, and ends
#   with status 3 from inside an atexit handler.
import atexit
import os
import subprocess
import sys
import threading


def goodbye():
    sys.stdout.flush()
    os._exit(3)


pid = os.fork()
if pid == 0:
    os.write(1, b"child speaks\n")
    os._exit(4)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print("child ended with", status, flush=True)
text = subprocess.run([sys.executable, "-c", "print('sub', 6 * 7)"], capture_output=True, text=True, check=True).stdout
print(text.strip(), flush=True)
atexit.register(goodbye)

import torch

outcome = []


def background():
    torch.cuda.set_device(0)
    with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
        w = torch.randn(4096, 4096, device="cuda")
        for _ in range(3):
            y = torch.tanh(w @ w)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            y = torch.tanh(w @ w)
        for _ in range(200):
            graph.replay()
        torch.cuda.synchronize()
        outcome.append(bool(torch.isfinite(y).all()))


thread = threading.Thread(target=background, name="trainer")
thread.start()
thread.join()
print("finite", outcome, flush=True)

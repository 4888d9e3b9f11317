# SPDX-License-Identifier: Apache-2.0
"""A thread that pins host memory while another captures in global mode: both lose.

usage: pinning_thread.py
Prints MARK with the line of the pinning thread that breaks the capture. Exits 0 when the capture failed as expected.
"""
import inspect
import sys
import threading

import torch

BUFFER = torch.empty(1 << 20, dtype=torch.uint8)


def mark():
    frame = inspect.currentframe().f_back
    print("MARK %s:%d" % (frame.f_code.co_filename, frame.f_lineno + 1), flush=True)


def pin_batches(capturing, pinned):
    capturing.wait(30)
    mark()
    torch.cuda.cudart().cudaHostRegister(BUFFER.data_ptr(), BUFFER.numel(), 0)
    pinned.set()


def main():
    x = torch.randn(256, 256, device="cuda")
    capturing, pinned = threading.Event(), threading.Event()
    loader = threading.Thread(target=pin_batches, args=(capturing, pinned), name="pin_batches")
    loader.start()
    for _ in range(3):
        y = x @ x
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, capture_error_mode="global"):
            y = x @ x
            capturing.set()
            pinned.wait(30)
            y = y.relu()
    except Exception as error:
        print("capture failed: %s" % str(error).splitlines()[0])
        loader.join()
        sys.exit(0)
    print("capture did not fail", y.shape)
    sys.exit(1)


main()

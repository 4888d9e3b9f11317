# SPDX-License-Identifier: Apache-2.0
"""PyTorch jobs whose capture succeeds and whose replays go wrong, each with its healthy twin.

usage: replay_faults.py sync|freed|side CASE
  sync broken      waits for the device and works on the host between replays
  sync healthy     replays back to back, one wait at the end
  freed broken     the captured input is let go of, its memory given back to the driver, and the graph replayed
  freed cached     the same without empty_cache(): the block stays in PyTorch's cache and goes to the next tensor
  freed healthy    the input stays
  side broken      inside the capture a kernel goes to a stream that was never forked into it
  side healthy     the side stream is forked and joined
Prints MARK FILE:LINE of the guilty line (broken), then "done".
"""
import inspect
import os
import sys
import time

import torch


def mark(offset=1):
    frame = inspect.currentframe().f_back
    print("MARK %s:%d" % (frame.f_code.co_filename, frame.f_lineno + offset), flush=True)


def captured(work):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


def sync(broken):
    weight = torch.randn(1024, 1024, device="cuda")
    out = torch.empty(1024, 1024, device="cuda")

    def work():
        for _ in range(10):
            torch.mm(weight, weight, out=out)

    graph = captured(work)
    for step in range(60):
        graph.replay()
        if broken:
            if step == 0:
                mark()
            torch.cuda.synchronize()
            until = time.monotonic() + 0.003
            while time.monotonic() < until:
                pass
    torch.cuda.synchronize()


def load_batch():
    # Larger than what the caching allocator keeps in shared segments, so that a free can reach the driver.
    return torch.randn(32 * 1024 * 1024, device="cuda")


def freed(case):
    broken = case != "healthy"
    static = load_batch()
    out = torch.zeros(1024, device="cuda")

    def work():
        out.add_(static[:1024])

    graph = captured(work)
    graph.replay()
    torch.cuda.synchronize()
    if broken:
        work = None
        mark()
        del static
        if case == "broken":
            torch.cuda.empty_cache()
        static = load_batch()  # most likely the same address again
    try:
        for _ in range(5):
            graph.replay()
        torch.cuda.synchronize()
    except RuntimeError:
        if not broken:
            raise
    if case == "broken":  # the context may be beyond repair, and then nothing that cleans up ends well
        print("done", flush=True)
        time.sleep(0.5)  # what a hook collects is handed over by now
        os._exit(0)


def side(broken):
    data = torch.randn(4096, device="cuda")
    main_out = torch.empty_like(data)
    side_out = torch.empty_like(data)
    other = torch.cuda.Stream()
    marked = []

    def work():
        torch.mul(data, 3, out=main_out)
        if not broken:
            other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            if broken and not marked and torch.cuda.is_current_stream_capturing() is False and capturing:
                marked.append(True)
                mark()
            torch.tanh(data, out=side_out)
        if not broken:
            torch.cuda.current_stream().wait_stream(other)

    capturing = False
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.synchronize()
    capturing = True
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    for _ in range(20):
        graph.replay()
    torch.cuda.synchronize()


def main():
    torch.manual_seed(1)
    if sys.argv[1] == "freed":
        freed(sys.argv[2])
    else:
        {"sync": sync, "side": side}[sys.argv[1]](sys.argv[2] == "broken")
    print("done")


if __name__ == "__main__":
    main()

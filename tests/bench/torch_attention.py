# SPDX-License-Identifier: Apache-2.0
"""Causal attention through PyTorch's scaled_dot_product_attention, to compare with kernel_bench on the same GPU in the
same minute: bf16, shapes and operation counts of kernel_bench (two products over the visible half of the scores, five
for the backward pass), medians of 7 times 10 launches.

usage: torch_attention.py [cudnn|flash]...      prints TFLOP/s for each
"""
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
SHAPES = [(1024, 16, 25, 64), (4096, 4, 16, 64), (4096, 4, 16, 128)]  # sequence, batch, heads, head size


def seconds(launch):
    """Median seconds of one launch on the device."""
    for _ in range(3):
        launch()
    samples = []
    for _ in range(7):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(10):
            launch()
        end.record()
        end.synchronize()
        samples.append(begin.elapsed_time(end) / 1e4)
    return statistics.median(samples)


def measure(name, seq, batch, heads, size):
    # (batch, sequence, heads, size) in memory, as the trainer's matrices are in essence.
    q, k, v, gradient = (torch.randn(batch, seq, heads, size, device="cuda", dtype=torch.bfloat16).transpose(1, 2)
                         for _ in range(4))
    for t in (q, k, v):
        t.requires_grad_()
    product = float(seq) * seq * batch * heads * size
    with sdpa_kernel(BACKENDS[name]):
        forward = seconds(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        backward = seconds(lambda: torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True))
    print(f"{name} attention s {seq} head {size}: forward {2e-12 * product / forward:.0f} TFLOP/s, "
          f"backward {5e-12 * product / backward:.0f} TFLOP/s", flush=True)


def main():
    for name in sys.argv[1:] or ["cudnn", "flash"]:
        if name not in BACKENDS:
            sys.exit(f"torch_attention.py: {name}: expected one of {', '.join(BACKENDS)}")
        for shape in SHAPES:
            try:
                measure(name, *shape)
            except RuntimeError as error:
                print(f"{name} attention {shape}: {str(error).splitlines()[0]}", flush=True)


if __name__ == "__main__":
    main()

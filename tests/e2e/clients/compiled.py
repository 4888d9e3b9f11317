# SPDX-License-Identifier: Apache-2.0
"""A training loop under torch.compile(mode="reduce-overhead"), which captures graphs itself. Exits 0 when the loss fell.

usage: compiled.py [STEPS]
"""
import sys

import torch


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(2048, 8192), torch.nn.GELU(), torch.nn.Linear(8192, 2048)).cuda()
    compiled = torch.compile(model, mode="reduce-overhead")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    inputs, targets = torch.randn(2048, 2048, device="cuda"), torch.randn(2048, 2048, device="cuda")
    history = torch.zeros(steps, device="cuda")
    for step in range(steps):
        torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(compiled(inputs), targets)
        loss.backward()
        optimizer.step()
        history[step].copy_(loss.detach())
    torch.cuda.synchronize()
    losses = history.tolist()
    print("first loss %.3f last loss %.3f" % (losses[0], losses[-1]))
    sys.exit(0 if losses[-1] < losses[0] else 1)


main()

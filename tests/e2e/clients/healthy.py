# SPDX-License-Identifier: Apache-2.0
"""A training loop captured the way PyTorch's documentation says: static input, warm-up on a side stream, replays.

usage: healthy.py [STEPS]
Prints the first and last loss; exits 0 when the loss fell.
"""
import sys

import torch


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True)
    static_input = torch.randn(128, 256, device="cuda")
    static_target = torch.randn(128, 256, device="cuda")
    batches = [(torch.randn(128, 256), torch.randn(128, 256)) for _ in range(4)]

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(model(static_input), static_target)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        static_loss = step()
    history = torch.zeros(steps, device="cuda")
    for i in range(steps):
        inputs, targets = batches[i % len(batches)]
        static_input.copy_(inputs)
        static_target.copy_(targets)
        graph.replay()
        history[i].copy_(static_loss)
    torch.cuda.synchronize()
    losses = history.tolist()
    print("first loss %.4f last loss %.4f" % (losses[0], losses[-1]))
    sys.exit(0 if losses[-1] < losses[0] else 1)


main()

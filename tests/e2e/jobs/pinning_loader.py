# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD102
# WHY: A lazy capture in the middle of an epoch, in global mode, while the DataLoader's pin thread pins batches whose
#   size grows (fresh cudaHostAlloc each). No line of this file made the call: no place is demanded.
import os
import time
import torch


class Growing(torch.utils.data.Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, index):
        time.sleep(0.03)
        return torch.ones((1 << 16) + 1024 * index)


def main():
    loader = torch.utils.data.DataLoader(Growing(), batch_size=None, num_workers=2, prefetch_factor=30, pin_memory=True)
    weight = torch.randn(1024, 1024, device="cuda")
    for _ in range(3):
        y = weight @ weight
    torch.cuda.synchronize()
    batches = iter(loader)
    first = next(batches)
    graph = torch.cuda.CUDAGraph()
    outcome = "captured"
    try:
        with torch.cuda.graph(graph):
            until = time.monotonic() + 1.0
            y = weight
            while time.monotonic() < until:  # stands for a big model traced in Python
                y = y @ weight
                time.sleep(0.005)
    except RuntimeError:
        outcome = "capture failed"
    print(outcome, first.numel(), flush=True)
    time.sleep(0.6)
    os._exit(0)  # the loader's thread may hang after a failed call


if __name__ == "__main__":
    main()

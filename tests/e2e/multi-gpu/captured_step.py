# SPDX-License-Identifier: Apache-2.0
"""A small model under DDP or FSDP whose forward and backward are captured and replayed.

usage (below torchrun): captured_step.py ddp|fsdp [WIDTH ROWS]
DDP captures the whole step with its all-reduces, after the eleven eager steps that it wants; FSDP shards its parameters, and
what is captured there is a block of its own between eager steps. Rank 0 prints the losses' sign of life; status 0 when all
ranks computed finite losses. Graphs go before the communicator.
"""
import os
import sys

import torch
import torch.distributed as dist

STEPS, WARMUP = 40, 11
# Large enough by default that a device has more to do in a step than its host.
WIDTH, ROWS = map(int, sys.argv[2:4] or (4096, 2048))


def model(width=WIDTH, depth=4):
    torch.manual_seed(1)
    layers = []
    for _ in range(depth):
        layers += [torch.nn.Linear(width, width), torch.nn.GELU()]
    return torch.nn.Sequential(*layers).cuda()


def captured(run, stream):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        result = run()
    return graph, result


def ddp(inputs):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        net = torch.nn.parallel.DistributedDataParallel(model(), device_ids=[torch.cuda.current_device()])

        def step():
            net.zero_grad(set_to_none=False)
            loss = net(inputs).square().mean()
            loss.backward()
            return loss

        for _ in range(WARMUP):
            step()
    torch.cuda.synchronize()
    graph, loss = captured(step, stream)
    for _ in range(STEPS):
        graph.replay()
    torch.cuda.synchronize()
    value = loss.item()
    del graph
    return value


def fsdp(inputs):
    from torch.distributed.fsdp import FullyShardedDataParallel

    head = torch.nn.Linear(WIDTH, WIDTH).cuda()
    net = FullyShardedDataParallel(model(), use_orig_params=True)
    stream = torch.cuda.Stream()
    features = torch.zeros_like(inputs)

    def forward_head():
        return head(features).square().mean()

    with torch.cuda.stream(stream):
        for _ in range(3):
            forward_head()
    torch.cuda.synchronize()
    graph, loss = captured(forward_head, stream)
    for _ in range(STEPS):
        net.zero_grad(set_to_none=True)
        out = net(inputs)
        features.copy_(out.detach())
        graph.replay()
        out.square().mean().backward()
    torch.cuda.synchronize()
    value = loss.item()
    del graph
    return value


def main():
    rank, devices = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if devices < int(os.environ["LOCAL_WORLD_SIZE"]):  # for the function only: NCCL wants one host a rank then
        os.environ.update(NCCL_HOSTID="rank%d" % rank, NCCL_SOCKET_IFNAME="lo", NCCL_NET="Socket", NCCL_IB_DISABLE="1")
    torch.cuda.set_device(rank % devices)
    dist.init_process_group("nccl")
    torch.manual_seed(2)
    inputs = torch.randn(ROWS, WIDTH, device="cuda")
    torch.cuda.synchronize()  # other streams read them
    value = {"ddp": ddp, "fsdp": fsdp}[sys.argv[1]](inputs)
    finite = value == value and abs(value) < 1e9
    if dist.get_rank() == 0:
        print("%s over %d ranks: %s" % (sys.argv[1], dist.get_world_size(), "finite" if finite else "not finite"))
    torch.cuda.synchronize()
    dist.destroy_process_group()
    sys.exit(0 if finite else 1)


main()

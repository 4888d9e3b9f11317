# SPDX-License-Identifier: Apache-2.0
"""Two NCCL ranks on one GPU: captured collectives, eager ones between replays; a functional set-up, never a fast one.

usage: nccl_pair.py
Starts both ranks (one process each, a host id of its own). Each prints nothing; the parent prints
EXPECT SQL => VALUE lines: what a trace must say of bytes, from this program's own arithmetic. Graphs go before the
communicator. Exits 0 when both ranks computed the right sums.
"""
import os
import socket
import subprocess
import sys

COUNT = 1 << 20  # float32: 4 MiB
SMALL = 1 << 12
REPLAYS = 12


def rank_main(rank, port):
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(0)
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:%d" % port, rank=rank, world_size=2)
    data = torch.ones(COUNT, device="cuda")
    gathered = torch.empty(2 * SMALL, device="cuda")
    part = torch.full((SMALL,), float(rank + 1), device="cuda")
    reduced = torch.empty(SMALL // 2, device="cuda")
    eager = torch.ones(SMALL, device="cuda")

    def work():
        dist.all_reduce(data)
        dist.all_gather_into_tensor(gathered, part)
        dist.reduce_scatter_tensor(reduced, part)

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        work()
    torch.cuda.synchronize()
    data.fill_(1.0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        work()
    for _ in range(REPLAYS):
        graph.replay()
        dist.all_reduce(eager)
        torch.cuda.synchronize()
    right = data[0].item() == 2.0**REPLAYS and gathered[-1].item() == 2.0 and reduced[0].item() == 3.0
    del graph
    torch.cuda.synchronize()
    dist.destroy_process_group()
    sys.exit(0 if right else 1)


def main():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    children = []
    for rank in range(2):
        env = dict(os.environ, RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), NCCL_HOSTID="rank%d" % rank,
                   NCCL_SOCKET_IFNAME="lo", NCCL_NET="Socket", NCCL_IB_DISABLE="1")
        children.append(subprocess.Popen([sys.executable, __file__, str(rank), str(port)], env=env))
    worst = max(child.wait() for child in children)
    per_replay = 4 * (COUNT + SMALL + SMALL // 2)
    print("EXPECT SELECT group_concat(DISTINCT message_bytes) FROM nccl_replay => %d" % per_replay)
    print("EXPECT SELECT group_concat(DISTINCT n) FROM (SELECT count(*) AS n FROM nccl_op "
          "WHERE capture_id IS NOT NULL GROUP BY process_id) => 3")
    print("EXPECT SELECT group_concat(DISTINCT b) FROM (SELECT sum(message_bytes) AS b FROM nccl_op WHERE capture_id "
          "IS NULL AND kind = 'all_reduce' AND count = %d GROUP BY process_id) => %d" % (SMALL, 4 * SMALL * REPLAYS))
    print("EXPECT SELECT group_concat(DISTINCT nranks || '/' || rank) FROM (SELECT * FROM nccl_comm ORDER BY rank) "
          "=> 2/0,2/1")
    sys.exit(worst)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        rank_main(int(sys.argv[1]), int(sys.argv[2]))
    else:
        main()

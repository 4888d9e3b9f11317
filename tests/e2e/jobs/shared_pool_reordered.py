# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD205 | GD204
# MISSED: that nothing reads the first graph's output in between cannot be told from eager launches
# WHY: Teacher and student were captured one after the other into one pool; the student's output lies where the teacher
#   had its intermediate values. The loop replays the student first, then the teacher, and compares the two afterwards.
import torch
import torch.nn as nn

torch.manual_seed(41)
torch.set_float32_matmul_precision("high")


def tower(depth):
    return nn.Sequential(*[m for _ in range(depth) for m in (nn.Linear(2048, 2048), nn.GELU())]).cuda()


with torch.no_grad():
    teacher, student = tower(8), tower(3)
    x = torch.randn(8192, 2048, device="cuda")
    pool = torch.cuda.graph_pool_handle()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            teacher(x), student(x)
    torch.cuda.synchronize()
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first, pool=pool, stream=stream):
        wanted = teacher(x)
    with torch.cuda.graph(second, pool=pool, stream=stream):
        guess = student(x)
    batches = [torch.randn(8192, 2048, device="cuda") for _ in range(3)]
    distance = torch.zeros(200, device="cuda")
    for step in range(200):
        torch.cuda.nvtx.range_push("step")
        x.copy_(batches[step % 3])
        second.replay()  # MARK
        first.replay()  # MARK
        distance[step].copy_((wanted - guess).square().mean())  # MARK
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
print("steps", distance.numel())

# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# ALONE: a steady state of less than two seconds
# WHY: Inference by one graph; batches are copied from pinned memory on a stream of their own into two staging buffers,
#   ordered by events both ways; results go to pinned memory and are looked at one batch later.
import torch
import torch.nn as nn

torch.manual_seed(6)
with torch.inference_mode():
    model = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(4096, 4096), nn.SiLU())]).cuda().bfloat16()
    static_in = torch.zeros(8192, 4096, device="cuda", dtype=torch.bfloat16)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(static_in).float().mean(dim=1)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static_out = model(static_in).float().mean(dim=1)

    host = [torch.randn(8192, 4096).bfloat16().pin_memory() for _ in range(2)]
    staging = [torch.empty_like(static_in) for _ in range(2)]
    results = [torch.zeros(8192).pin_memory() for _ in range(2)]
    loader = torch.cuda.Stream()
    filled = [torch.cuda.Event() for _ in range(2)]
    taken = [torch.cuda.Event() for _ in range(2)]
    ready = [torch.cuda.Event() for _ in range(2)]
    main = torch.cuda.current_stream()

    def prefetch(i):
        slot = i % 2
        with torch.cuda.stream(loader):
            if i >= 2:
                loader.wait_event(taken[slot])
            staging[slot].copy_(host[slot], non_blocking=True)
            filled[slot].record(loader)

    loader.wait_stream(main)
    total = 0.0
    prefetch(0)
    for i in range(200):
        slot = i % 2
        prefetch(i + 1)
        main.wait_event(filled[slot])
        static_in.copy_(staging[slot])
        taken[slot].record(main)
        graph.replay()
        results[slot].copy_(static_out, non_blocking=True)
        ready[slot].record(main)
        if i:
            ready[1 - slot].synchronize()
            total += float(results[1 - slot][0] > 1e9)
    torch.cuda.synchronize()
print("batches 200 huge", total)

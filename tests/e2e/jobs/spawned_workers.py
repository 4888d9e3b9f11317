# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# WHY: A parent without CUDA spawns two workers that train on the same GPU with a graph each; results come by a queue.
import multiprocessing


def worker(number, queue):
    import torch
    torch.manual_seed(number)
    torch.set_float32_matmul_precision("high")
    model = torch.nn.Sequential(*[m for _ in range(3) for m in (torch.nn.Linear(4096, 4096), torch.nn.ReLU())]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=True)
    x = torch.randn(4096, 4096, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = (model(x) - x).square().mean()
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
    with torch.cuda.graph(graph):
        loss = step()
    losses = torch.zeros(100, device="cuda")
    for i in range(100):
        graph.replay()
        losses[i].copy_(loss)
    values = losses.tolist()
    queue.put((number, values[-1] < values[0]))


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=worker, args=(n, queue)) for n in (1, 2)]
    for w in workers:
        w.start()
    results = sorted(queue.get(timeout=70) for _ in workers)
    for w in workers:
        w.join(20)
    print(results, [w.exitcode for w in workers])

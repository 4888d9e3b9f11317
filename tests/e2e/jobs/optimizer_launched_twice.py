# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD705
# WHY: Backward and optimizer are graphs of their own; a "retry" path launches the optimizer's graph a second time in
#   every tenth step.
import torch

torch.manual_seed(17)
torch.set_float32_matmul_precision("high")
model = torch.nn.Sequential(*[m for _ in range(3) for m in (torch.nn.Linear(2048, 2048), torch.nn.GELU())]).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True, capturable=True)
x = torch.randn(4096, 2048, device="cuda")
for p in model.parameters():
    p.grad = torch.zeros_like(p)


def gradients():
    optimizer.zero_grad(set_to_none=False)
    loss = (model(x) - x).square().mean()
    loss.backward()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        gradients()
        optimizer.step()
torch.cuda.current_stream().wait_stream(side)
torch.cuda.synchronize()
pass_graph, apply_graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(pass_graph):
    loss = gradients()
with torch.cuda.graph(apply_graph):  # MARK
    optimizer.step()


def apply(step):
    apply_graph.replay()
    if step % 10 == 9:
        apply_graph.replay()  # MARK


for step in range(150):
    pass_graph.replay()
    apply(step)
print("finite", bool(torch.isfinite(loss)))

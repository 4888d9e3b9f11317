# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# WHY: torchvision ResNet-18, channels_last, bf16 autocast, cudnn benchmark in the warm-up, whole step captured with SGD
#   momentum of constant rate. A second, eager validation pass (other mode, other batch size) between epochs.
import torch
import torchvision

torch.manual_seed(3)
torch.backends.cudnn.benchmark = True
model = torchvision.models.resnet18(num_classes=100).cuda().to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
images = torch.randn(128, 3, 160, 160, device="cuda").to(memory_format=torch.channels_last)
labels = torch.randint(0, 100, (128,), device="cuda")
validation = torch.randn(64, 3, 160, 160, device="cuda").to(memory_format=torch.channels_last)


def train_step():
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(5):
        train_step()
torch.cuda.current_stream().wait_stream(side)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = train_step()
pool = [torch.randn(128, 3, 160, 160, device="cuda").to(memory_format=torch.channels_last) for _ in range(2)]
losses = []
for epoch in range(3):
    for step in range(40):
        images.copy_(pool[step % 2])
        graph.replay()
    losses.append(loss.clone())
    model.eval()
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
        for _ in range(3):
            model(validation).argmax(dim=1)
    model.train()
values = torch.stack(losses).tolist()
print("epochs", len(values), "finite", all(v == v for v in values))

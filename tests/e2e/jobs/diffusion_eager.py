# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD307 | GD304 | GD306
# WHY: A sampler graphs the final decoder only. The 40 denoising steps in front of it are some thousand tiny kernels,
#   launched singly: the device waits for the host nearly all the time, the graph is in the wrong place.
import torch
import torch.nn as nn

torch.manual_seed(42)
STEPS = 40


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.time = nn.GroupNorm(8, width), nn.Linear(64, width)
        self.conv1, self.conv2 = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 1)

    def forward(self, x, t):
        h = self.conv1(nn.functional.silu(self.norm(x))) + self.time(t)[:, :, None, None]
        return x + self.conv2(nn.functional.silu(h))


with torch.inference_mode():
    blocks = nn.ModuleList(Block(64) for _ in range(6)).cuda()
    decoder = nn.Sequential(nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.SiLU(), nn.Conv2d(32, 3, 3, padding=1), nn.Tanh()).cuda()
    times = torch.randn(STEPS, 1, 64, device="cuda")
    sigmas = torch.linspace(1.0, 0.02, STEPS).tolist()
    latent = torch.zeros(1, 64, 16, 16, device="cuda")
    for _ in range(3):
        decoder(latent)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        image = decoder(latent)
    brightness = torch.zeros(60, device="cuda")
    for sample in range(60):
        x = torch.randn_like(latent)
        for sigma, t in zip(sigmas, times):
            h = x
            for block in blocks:
                h = block(h, t)
            x = x - 0.05 * sigma * h
        latent.copy_(x)
        graph.replay()
        brightness[sample].copy_(image.mean())
    values = brightness.tolist()
print("samples", len(values), "in range", all(-1 <= v <= 1 for v in values))

# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD306
# WHY: The runner uses its graph for contiguous inputs only; every second batch arrives as a transposed view and goes
#   through the same layers as single launches.
import torch

torch.manual_seed(9)


class Runner:
    def __init__(self, sample):
        self.layers = [torch.randn(1024, 1024, device="cuda") / 32 for _ in range(8)]
        self.static = sample.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.layers_on(self.static)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):  # MARK
            self.out = self.layers_on(self.static)

    def layers_on(self, x):
        for w in self.layers:
            x = torch.nn.functional.layer_norm(torch.nn.functional.gelu(torch.mm(x, w)), (1024,))  # MARK
        return x

    def __call__(self, x):
        if x.is_contiguous():
            self.static.copy_(x)
            self.graph.replay()
            return self.out
        return self.layers_on(x.contiguous())  # MARK


with torch.no_grad():
    runner = Runner(torch.randn(2048, 1024, device="cuda"))
    plain = torch.randn(2048, 1024, device="cuda")
    turned = torch.randn(1024, 2048, device="cuda").t()
    for batch in range(160):
        y = runner(turned if batch % 2 else plain)
torch.cuda.synchronize()
print("batches 160", tuple(y.shape))

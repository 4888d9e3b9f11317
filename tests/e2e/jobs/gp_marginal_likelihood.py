# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD101 | GD109
# WHY: Hyperparameters of an exact Gaussian process are trained by a captured step. GPyTorch compares the training inputs
#   and asks the Cholesky factorisation for success on the host, so the capture fails; training goes on eagerly.
import warnings
warnings.filterwarnings("ignore")
import gpytorch
import torch

torch.manual_seed(53)
x = torch.linspace(0, 1, 400, device="cuda").unsqueeze(-1)
y = torch.sin(12 * x).squeeze(-1) + 0.1 * torch.randn(400, device="cuda")


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood().cuda()
model = Model(x, y, likelihood).cuda()
model.train(), likelihood.train()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05, capturable=True)
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)


def train_step():
    optimizer.zero_grad(set_to_none=True)
    loss = -mll(model(x), y)  # MARK
    loss.backward()  # MARK
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
captured = True
try:
    with torch.cuda.graph(graph):
        train_step()
except RuntimeError:
    captured = False
print("captured", captured, flush=True)

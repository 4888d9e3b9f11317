# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# WHY: Lightning Trainer.fit; the body of the network is graphed by make_graphed_callables before training, batches come
#   pinned from an iterable loader, no progress bar, no logger.
import logging
import warnings
warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
import pytorch_lightning as pl
import torch
import torch.nn as nn

torch.set_float32_matmul_precision("high")


class Stream(torch.utils.data.IterableDataset):
    def __init__(self, batches):
        generator = torch.Generator().manual_seed(3)
        self.pool = [torch.randn(8192, 64, generator=generator) for _ in range(4)]
        self.batches = batches

    def __iter__(self):
        for i in range(self.batches):
            x = self.pool[i % 4]
            yield x, x[:, :8].sum(dim=1, keepdim=True)


class Regression(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(64, 4096)
        self.body = nn.Sequential(*[m for _ in range(3) for m in (nn.Linear(4096, 4096), nn.GELU())])
        self.head = nn.Linear(4096, 1)
        self.losses = None

    def on_fit_start(self):
        sample = torch.randn(8192, 4096, device=self.device, requires_grad=True)
        self.body = torch.cuda.make_graphed_callables(self.body, (sample,))
        self.losses = torch.zeros(1000, device=self.device)

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.mse_loss(self.head(self.body(self.stem(x))), y)
        self.losses[index].copy_(loss.detach())
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=True)


pl.seed_everything(7, verbose=False)
loader = torch.utils.data.DataLoader(Stream(120), batch_size=None, pin_memory=True)
model = Regression()
trainer = pl.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, loader)
losses = model.losses[:120].tolist()
print("batches", trainer.global_step, "loss fell", losses[-1] < losses[0])

# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD302
# WHY: Lightning with a graphed network; a metrics callback reads the loss with .item() after every batch. Host and
#   device never overlap: the device waits while Lightning prepares the next batch.
import logging
import warnings
warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
import pytorch_lightning as pl
import torch
import torch.nn as nn

torch.set_float32_matmul_precision("high")


class Metrics(pl.Callback):
    def __init__(self):
        self.curve = []

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.curve.append(outputs["loss"].item())  # MARK


class Regression(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(2048, 2048), nn.GELU())])
        self.head = nn.Linear(2048, 1)

    def on_fit_start(self):
        sample = torch.randn(8192, 2048, device=self.device)
        self.body = torch.cuda.make_graphed_callables(self.body, (sample,))

    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.mse_loss(self.head(self.body(x)), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=True)


class Batches(torch.utils.data.IterableDataset):
    def __iter__(self):
        x = torch.randn(8192, 2048, generator=torch.Generator().manual_seed(5)).pin_memory()
        for _ in range(200):
            yield x, x[:, :8].sum(dim=1, keepdim=True)


pl.seed_everything(8, verbose=False)
metrics = Metrics()
trainer = pl.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False, callbacks=[metrics])
trainer.fit(Regression(), torch.utils.data.DataLoader(Batches(), batch_size=None))
print("batches", len(metrics.curve), "loss fell", metrics.curve[-1] < metrics.curve[0])

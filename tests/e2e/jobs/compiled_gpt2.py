# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# WHY: Trainer-like fine-tuning of a random GPT-2 under torch.compile(mode="reduce-overhead") with bf16 autocast,
#   gradient clipping, a LambdaLR and metrics read every 20 steps only. Nothing to complain about.
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(11)
torch.set_float32_matmul_precision("high")


class Trainer:
    def __init__(self, model, steps):
        self.model = model
        self.compiled = torch.compile(model, mode="reduce-overhead")
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda n: min(1.0, (n + 1) / 10))
        self.steps = steps
        self.loss_sum = torch.zeros((), device="cuda")
        self.history = []

    def training_step(self, ids):
        torch.compiler.cudagraph_mark_step_begin()
        with torch.autocast("cuda", torch.bfloat16):
            loss = self.compiled(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        self.loss_sum += loss.detach()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad(set_to_none=True)

    def train(self, batches):
        self.model.train()
        for step in range(self.steps):
            self.training_step(batches[step % len(batches)])
            if step % 20 == 19:
                self.history.append(self.loss_sum.item() / 20)
                self.loss_sum.zero_()


config = GPT2Config(n_layer=2, n_embd=768, n_head=12, n_positions=512, vocab_size=32000)
model = GPT2LMHeadModel(config).cuda()
batches = [torch.randint(0, 32000, (16, 512), device="cuda") for _ in range(2)]
trainer = Trainer(model, 120)
trainer.train(batches)
print("windows", len(trainer.history), "loss fell", trainer.history[-1] < trainer.history[0])

# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# ALONE: a steady state of less than two seconds
# WHY: An embedding service: transformers' BERT encoder and mean pooling in one graph, token ids padded to 128 and copied
#   from pinned memory, embeddings gathered on the device and fetched at the end.
import warnings
warnings.filterwarnings("ignore")
import torch
from transformers import BertConfig, BertModel
from transformers.utils import logging
logging.set_verbosity_error()

torch.manual_seed(54)
config = BertConfig(hidden_size=1024, num_hidden_layers=4, num_attention_heads=16, intermediate_size=4096, vocab_size=8000)
model = BertModel(config, add_pooling_layer=False).cuda().to(torch.bfloat16).eval()
ids = torch.zeros(64, 128, dtype=torch.long, device="cuda")


def embed():
    hidden = model(inputs_embeds=model.embeddings.word_embeddings(ids)).last_hidden_state
    weight = (ids != 0).unsqueeze(-1).to(hidden.dtype)
    return ((hidden * weight).sum(1) / weight.sum(1).clamp(min=1)).float()


with torch.inference_mode():
    ids.random_(1, 8000)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            embed()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        pooled = embed()
    documents = [torch.randint(1, 8000, (64, 128)).pin_memory() for _ in range(5)]
    for n, batch in enumerate(documents):
        batch[:, 128 - 8 * n :] = 0
    table = torch.zeros(300, 64, 1024, device="cuda")
    for step in range(300):
        ids.copy_(documents[step % 5], non_blocking=True)
        graph.replay()
        table[step].copy_(pooled)
    result = table.cpu()
print("embedded", result.shape[0] * result.shape[1], "finite", bool(torch.isfinite(result).all()))

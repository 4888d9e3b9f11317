# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent | GD302 | GD304
# WHY: transformers' own generate() with cache_implementation="static" (it compiles the decode step itself). generate()
#   asks the device after every token whether all sequences ended: GD302 is true where the device idles for it.
import warnings
warnings.filterwarnings("ignore")
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.utils import logging
logging.set_verbosity_error()

torch.manual_seed(21)
config = LlamaConfig(hidden_size=2048, intermediate_size=5632, num_hidden_layers=2, num_attention_heads=16,
                     num_key_value_heads=4, vocab_size=16000, max_position_embeddings=512, eos_token_id=None,
                     bos_token_id=1, pad_token_id=0)
torch.set_default_dtype(torch.bfloat16)
with torch.device("cuda"):
    model = LlamaForCausalLM(config)
torch.set_default_dtype(torch.float32)
model.eval()
prompt = torch.randint(2, 16000, (8, 32), device="cuda")
lengths = []
for _ in range(2):
    out = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=96, do_sample=False,
                         cache_implementation="static")
    lengths.append(out.shape[1])
print("lengths", lengths)

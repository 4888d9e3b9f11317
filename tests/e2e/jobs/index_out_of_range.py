# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD210
# EXIT: 1
# WHY: A tagger in a graph; step 120 brings a word id as large as the vocabulary. The embedding's kernel asserts inside
#   the replay, and the error shows at the synchronize of the step's end. CUDA_LAUNCH_BLOCKING would not help.
import os
import sys
import torch
import torch.nn as nn

torch.manual_seed(11)
VOCABULARY, WIDTH, BATCH, STEPS, BROKEN = 5000, 256, 512, 200, 120


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.body = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 16))

    def forward(self, words):
        hidden = self.embed(words)  # MARK
        return self.body(hidden).argmax(-1)


def capture(model, words):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(words)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tags = model(words)
    return graph, tags


def step(graph, words, batch):
    words.copy_(batch, non_blocking=True)
    graph.replay()  # MARK


def main():
    model = Tagger().cuda().eval()
    words = torch.zeros(BATCH, dtype=torch.long, device="cuda")
    graph, tags = capture(model, words)
    batches = torch.randint(0, VOCABULARY, (STEPS, BATCH)).pin_memory()
    batches[BROKEN, 3] = VOCABULARY
    for i in range(STEPS):
        step(graph, words, batches[i])
        torch.cuda.synchronize()
    print("tagged", STEPS, tags.shape[0])


with torch.no_grad():
    try:
        main()
    except RuntimeError as error:
        print("device-side assert" if "device-side assert" in str(error) else str(error).splitlines()[0])
        sys.stdout.flush()
        os._exit(1)  # every destructor would only fail again

# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD310 | GD304 | GD301
# WHY: The data set decodes each sample in the main process (num_workers=0) for longer than the graph runs: the device
#   waits for input most of the time.
import zlib
import torch

RAW = zlib.compress(bytes(range(256)) * 16384, 6)


class Compressed(torch.utils.data.Dataset):
    def __len__(self):
        return 600

    def __getitem__(self, index):
        pixels = torch.frombuffer(bytearray(zlib.decompress(RAW)), dtype=torch.uint8)
        return pixels[index : index + 4096].float() / 255.0


torch.manual_seed(13)
loader = torch.utils.data.DataLoader(Compressed(), batch_size=4)
model = torch.nn.Sequential(torch.nn.Linear(4096, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1000)).cuda()
static = torch.zeros(4, 4096, device="cuda")
with torch.no_grad():
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(static)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(static)
    total = torch.zeros((), device="cuda")
    for batch in loader:
        static.copy_(batch)
        graph.replay()
        total += out.argmax(dim=1).sum()
print("batches", len(loader), "sum is whole", float(total) == int(total))

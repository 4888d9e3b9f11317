# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD101 | GD109
# WHY: The detector's post-processing is part of the captured function; torchvision's nms returns as many boxes as are
#   left, so the host has to learn a size from the device. The server goes on eagerly.
import torch
import torch.nn as nn
from torchvision.ops import box_convert, nms

torch.manual_seed(36)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU())
        self.boxes, self.scores = nn.Conv2d(32, 4, 1), nn.Conv2d(32, 1, 1)

    def forward(self, image):
        f = self.features(image)
        boxes = self.boxes(f).permute(0, 2, 3, 1).reshape(-1, 4).sigmoid() * 64 + 1
        scores = self.scores(f).flatten()
        boxes = box_convert(boxes, "cxcywh", "xyxy")
        keep = nms(boxes, scores, 0.5)  # MARK
        return boxes[keep], scores[keep]


with torch.inference_mode():
    head = Head().cuda().eval()
    image = torch.rand(1, 3, 128, 128, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            head(image)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    captured = True
    try:
        with torch.cuda.graph(graph):
            head(image)
    except RuntimeError:
        captured = False
print("captured", captured, flush=True)

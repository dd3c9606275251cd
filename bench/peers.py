"""Networks of torch's layers, from their papers, and its layouts: what ours equal, and are timed beside."""

from collections.abc import Sequence

import torch
from torch import nn

CHANNELS_LAST = "torch channels_last"
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def channels_last(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors in the layout that PyTorch's own kernels like best; none where it has no such layout."""
    layout = FORMATS.get(tensors[0].ndim)
    return [tensor.contiguous(memory_format=layout) for tensor in tensors] if layout else []


class Block(nn.Module):
    """A basic block of a ResNet."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        found = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(found + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    """ResNet-18, with the 7x7 stem or the small one."""

    def __init__(self, classes, is_small, channels=(64, 128, 256, 512)):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False) if is_small else nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1, self.pool = nn.BatchNorm2d(64), nn.Identity() if is_small else nn.MaxPool2d(3, 2, 1)
        widths = (64, *channels)
        for k in range(4):
            first = Block(widths[k], widths[k + 1], 1 if k == 0 else 2)
            self.add_module(f"layer{k + 1}", nn.Sequential(first, Block(widths[k + 1], widths[k + 1], 1)))
        self.fc = nn.Linear(widths[-1], classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        return self.fc(self.layer4(self.layer3(self.layer2(self.layer1(x)))).mean((2, 3)))


def lenet_5():
    """LeNet-5 under the names of ours."""
    model = nn.Sequential()
    model.features = nn.Sequential(nn.Conv2d(1, 6, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
                                   nn.AvgPool2d(2))
    model.flatten = nn.Flatten()
    model.classifier = nn.Sequential(nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10))
    return model

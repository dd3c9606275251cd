"""Networks by name. Where PyTorch's library of vision models has them too, their parameters have the same names."""

from .lenet import LeNet, lenet_1, lenet_4, lenet_5
from .resnet import BasicBlock, ResNet, resnet_18, resnet_34

__all__ = ["BasicBlock", "LeNet", "ResNet", "lenet_1", "lenet_4", "lenet_5", "resnet_18", "resnet_34"]

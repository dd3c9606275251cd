"""MobileNet V1 and V2: depthwise convolutions and 1x1 convolutions.

Sources: A. Howard et al., MobileNets, arXiv:1704.04861; M. Sandler et al., MobileNetV2, arXiv:1801.04381. Parameters
of V1 have the names of timm's, those of V2 the names of PyTorch's library.
"""

from functools import partial
from typing import Any

from .. import nn
from ..array import Tensor
from .blocks import Classifier, ConvNormAct, divisible, start
from .registry import register_model

# Output channels, blocks and stride of each stage; V2 has a factor of expansion before them.
STAGES_V1 = ((64, 1, 1), (128, 2, 2), (256, 2, 2), (512, 6, 2), (1024, 2, 2))
STAGES_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


class _Separable(nn.Module):
    """A depthwise 3x3 convolution, then one of 1x1, each with norm and ReLU6."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv_dw = nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False)
        self.bn1, self.act1 = nn.BatchNorm2d(inputs), nn.ReLU6()
        self.conv_pw = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.bn2, self.act2 = nn.BatchNorm2d(outputs), nn.ReLU6()

    def forward(self, input: Tensor) -> Tensor:
        """The block's result."""
        found = self.act1(self.bn1(self.conv_dw(input)))
        return self.act2(self.bn2(self.conv_pw(found)))


class MobileNet(nn.Module):
    """MobileNet V1 for images (batch, in_channels, height, width): the scores of the classes.

    `width_multiplier` scales the channels, which are rounded to multiples of 8.
    """

    def __init__(self, width_multiplier: float = 1.0, num_classes: int = 1000, in_channels: int = 3,
                 dropout: float = 0.0) -> None:
        super().__init__()
        width = divisible(32 * width_multiplier)
        self.conv_stem = nn.Conv2d(in_channels, width, 3, 2, 1, bias=False)
        self.bn1, self.act1 = nn.BatchNorm2d(width), nn.ReLU6()
        stages = []
        for channels, count, stride in STAGES_V1:
            outputs = divisible(channels * width_multiplier)
            inputs = [width] + [outputs] * (count - 1)
            stages.append(nn.Sequential(*[_Separable(each, outputs, stride if number == 0 else 1)
                                          for number, each in enumerate(inputs)]))
            width = outputs
        self.blocks = nn.Sequential(*stages)
        self.avgpool, self.flatten, self.dropout = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout)
        self.classifier = nn.Linear(width, num_classes)
        start(self, "kaiming")

    def forward(self, input: Tensor) -> Tensor:
        """The scores (batch, classes)."""
        x = self.blocks(self.act1(self.bn1(self.conv_stem(input))))
        return self.classifier(self.dropout(self.flatten(self.avgpool(x))))


class _InvertedResidual(nn.Module):
    """1x1 convolution to more channels, a depthwise one, and 1x1 to fewer; added to the input where shapes allow."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden, block = inputs * expansion, partial(ConvNormAct, activation=nn.ReLU6)
        expand = [block(inputs, hidden, 1)] if expansion != 1 else []
        self.conv = nn.Sequential(*expand, block(hidden, hidden, 3, stride, hidden),
                                  nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.is_added = stride == 1 and inputs == outputs

    def forward(self, input: Tensor) -> Tensor:
        """The block's result."""
        found = self.conv(input)
        return input + found if self.is_added else found


class MobileNet_V2(Classifier):
    """MobileNet V2 for images (batch, in_channels, height, width): the scores of the classes."""

    def __init__(self, num_classes: int = 1000, width_multiplier: float = 1.0, in_channels: int = 3,
                 dropout: float = 0.2) -> None:
        super().__init__()
        width, last = divisible(32 * width_multiplier), divisible(1280 * max(1.0, width_multiplier))
        features: list[nn.Module] = [ConvNormAct(in_channels, width, 3, 2, activation=nn.ReLU6)]
        for expansion, channels, count, stride in STAGES_V2:
            outputs = divisible(channels * width_multiplier)
            for number in range(count):
                features.append(_InvertedResidual(width, outputs, stride if number == 0 else 1, expansion))
                width = outputs
        self.features = nn.Sequential(*features, ConvNormAct(width, last, 1, activation=nn.ReLU6))
        self.avgpool, self.flatten = nn.AdaptiveAvgPool2d(1), nn.Flatten()
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, num_classes))
        start(self, "kaiming", 0.01)


@register_model
def mobilenet(num_classes: int = 1000, width_multiplier: float = 1.0, **kwargs: Any) -> MobileNet:
    """MobileNet V1: 4,231,976 parameters for 1000 classes."""
    return MobileNet(width_multiplier, num_classes, **kwargs)


@register_model
def mobilenet_v2(num_classes: int = 1000, **kwargs: Any) -> MobileNet_V2:
    """MobileNet V2: 3,504,872 parameters for 1000 classes."""
    return MobileNet_V2(num_classes, **kwargs)

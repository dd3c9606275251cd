"""DenseNet: every layer of a block sees the results of all layers before it.

Source: G. Huang, Z. Liu, L. van der Maaten, K. Weinberger, Densely connected convolutional networks, arXiv:1608.06993.
"""

from collections.abc import Sequence
from typing import Any

from .. import nn
from ..array import Tensor
from ..ops.movement import concat
from .blocks import start
from .registry import register_model


class _DenseLayer(nn.Module):
    """What a layer adds: norm, ReLU and 1x1 convolution, then norm, ReLU and 3x3 convolution."""

    def __init__(self, inputs: int, growth: int, bottleneck: int, dropout: float) -> None:
        super().__init__()
        hidden = bottleneck * growth
        self.norm1, self.relu1 = nn.BatchNorm2d(inputs), nn.ReLU()
        self.conv1 = nn.Conv2d(inputs, hidden, 1, bias=False)
        self.norm2, self.relu2 = nn.BatchNorm2d(hidden), nn.ReLU()
        self.conv2 = nn.Conv2d(hidden, growth, 3, padding=1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input: Tensor) -> Tensor:
        """The new channels."""
        found = self.conv1(self.relu1(self.norm1(input)))
        return self.dropout(self.conv2(self.relu2(self.norm2(found))))


class _DenseBlock(nn.Module):
    """Layers that each add `growth` channels to what the next one sees."""

    def __init__(self, layers: int, inputs: int, growth: int, bottleneck: int, dropout: float) -> None:
        super().__init__()
        for number in range(layers):
            self.add_module(f"denselayer{number + 1}",
                            _DenseLayer(inputs + number * growth, growth, bottleneck, dropout))

    def forward(self, input: Tensor) -> Tensor:
        """The input and all new channels."""
        for layer in self.children():
            input = concat((input, layer(input)), axis=1)
        return input


def _transition(inputs: int, outputs: int) -> nn.Sequential:
    """Half the channels, half the extent."""
    return nn.Sequential({"norm": nn.BatchNorm2d(inputs), "relu": nn.ReLU(),
                          "conv": nn.Conv2d(inputs, outputs, 1, bias=False), "pool": nn.AvgPool2d(2, 2)})


class DenseNet(nn.Module):
    """DenseNet for images (batch, in_channels, height, width): the scores of the classes.

    `block_config`: the layers of each block; `growth_rate`: the channels that a layer adds; `bn_size`: how many times
    as many are between its two convolutions.
    """

    def __init__(self, block_config: Sequence[int], growth_rate: int = 32, num_init_features: int = 64,
                 num_classes: int = 1000, in_channels: int = 3, bn_size: int = 4, dropout: float = 0.0) -> None:
        super().__init__()
        width = num_init_features
        layers: dict[str, nn.Module] = {
            "conv0": nn.Conv2d(in_channels, width, 7, 2, 3, bias=False), "norm0": nn.BatchNorm2d(width),
            "relu0": nn.ReLU(), "pool0": nn.MaxPool2d(3, 2, padding=1)}
        for number, count in enumerate(block_config, 1):
            layers[f"denseblock{number}"] = _DenseBlock(count, width, growth_rate, bn_size, dropout)
            width += count * growth_rate
            if number < len(block_config):
                layers[f"transition{number}"] = _transition(width, width // 2)
                width //= 2
        self.features = nn.Sequential({**layers, "norm5": nn.BatchNorm2d(width)})
        self.relu, self.avgpool, self.flatten = nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
        self.classifier = nn.Linear(width, num_classes)
        start(self, "kaiming")
        nn.init.zeros_(self.classifier.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The scores (batch, classes)."""
        return self.classifier(self.flatten(self.avgpool(self.relu(self.features(input)))))


@register_model
def densenet_121(num_classes: int = 1000, **kwargs: Any) -> DenseNet:
    """DenseNet-121: 7,978,856 parameters for 1000 classes."""
    return DenseNet((6, 12, 24, 16), num_classes=num_classes, **kwargs)


@register_model
def densenet_161(num_classes: int = 1000, **kwargs: Any) -> DenseNet:
    """DenseNet-161, whose layers add 48 channels: 28,681,000 parameters for 1000 classes."""
    return DenseNet((6, 12, 36, 24), 48, 96, num_classes, **kwargs)


@register_model
def densenet_169(num_classes: int = 1000, **kwargs: Any) -> DenseNet:
    """DenseNet-169: 14,149,480 parameters for 1000 classes."""
    return DenseNet((6, 12, 32, 32), num_classes=num_classes, **kwargs)


@register_model
def densenet_201(num_classes: int = 1000, **kwargs: Any) -> DenseNet:
    """DenseNet-201: 20,013,928 parameters for 1000 classes."""
    return DenseNet((6, 12, 48, 32), num_classes=num_classes, **kwargs)


@register_model
def densenet_264(num_classes: int = 1000, **kwargs: Any) -> DenseNet:
    """DenseNet-264: 33,337,704 parameters for 1000 classes."""
    return DenseNet((6, 12, 64, 48), num_classes=num_classes, **kwargs)

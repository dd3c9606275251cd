"""VGG: convolutions of 3x3 in five groups with a max-pool after each, and three linear layers.

Source: K. Simonyan, A. Zisserman, Very deep convolutional networks for large-scale image recognition, arXiv:1409.1556.
"""

from collections.abc import Sequence
from typing import Any

from .. import nn
from .blocks import Classifier, start
from .registry import register_model

POOL = "M"
WIDTHS = (64, 128, 256, 512, 512)


class VGGNet(Classifier):
    """VGG for images (batch, in_channels, height, width), made for 224x224: the scores of the classes.

    `conv_config`: the channels after each convolution, and "M" for a max-pool.
    """

    def __init__(self, conv_config: Sequence[int | str], num_classes: int = 1000, in_channels: int = 3,
                 batch_norm: bool = False, dropout: float = 0.5) -> None:
        super().__init__()
        features: list[nn.Module] = []
        for width in conv_config:
            if isinstance(width, str):
                features.append(nn.MaxPool2d(2, 2))
                continue
            norm = [nn.BatchNorm2d(width)] if batch_norm else []
            features += [nn.Conv2d(in_channels, width, 3, padding=1), *norm, nn.ReLU()]
            in_channels = width
        self.features = nn.Sequential(*features)
        self.avgpool, self.flatten = nn.AdaptiveAvgPool2d(7), nn.Flatten()
        self.classifier = nn.Sequential(
            nn.Linear(in_channels * 7 * 7, 4096), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(dropout), nn.Linear(4096, num_classes))
        start(self, "kaiming", 0.01)


def _config(*depths: int) -> list[int | str]:
    """So many convolutions in each group."""
    found: list[int | str] = []
    for width, depth in zip(WIDTHS, depths, strict=True):
        found += [width] * depth
        found.append(POOL)
    return found


@register_model
def vggnet_11(num_classes: int = 1000, **kwargs: Any) -> VGGNet:
    """VGG-11: 132,863,336 parameters for 1000 classes; `batch_norm=True` adds norms."""
    return VGGNet(_config(1, 1, 2, 2, 2), num_classes, **kwargs)


@register_model
def vggnet_13(num_classes: int = 1000, **kwargs: Any) -> VGGNet:
    """VGG-13: 133,047,848 parameters for 1000 classes."""
    return VGGNet(_config(2, 2, 2, 2, 2), num_classes, **kwargs)


@register_model
def vggnet_16(num_classes: int = 1000, **kwargs: Any) -> VGGNet:
    """VGG-16: 138,357,544 parameters for 1000 classes."""
    return VGGNet(_config(2, 2, 3, 3, 3), num_classes, **kwargs)


@register_model
def vggnet_19(num_classes: int = 1000, **kwargs: Any) -> VGGNet:
    """VGG-19: 143,667,240 parameters for 1000 classes."""
    return VGGNet(_config(2, 2, 4, 4, 4), num_classes, **kwargs)

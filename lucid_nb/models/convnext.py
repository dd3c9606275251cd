"""ConvNeXt: a convolutional network with the habits of vision transformers.

Source: Z. Liu et al., A ConvNet for the 2020s, arXiv:2201.03545.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import nn
from ..array import Tensor
from ..creation import full
from .blocks import drop_rates, start
from .registry import register_model

NORM = partial(nn.LayerNorm, eps=1e-6)


class _LayerNorm2d(nn.LayerNorm):
    """A layer norm over the channels of images (batch, channels, height, width)."""

    def forward(self, input: Tensor) -> Tensor:
        """The normalised images."""
        return super().forward(input.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


class _Axes(nn.Module):
    """The axes in another order."""

    def __init__(self, *axes: int) -> None:
        super().__init__()
        self.axes = axes

    def forward(self, input: Tensor) -> Tensor:
        """The input seen with its axes in that order."""
        return input.transpose(*self.axes)


class _Block(nn.Module):
    """A depthwise 7x7 convolution and a network on each pixel, scaled by channel and added to the input."""

    def __init__(self, width: int, scale: float, drop: float) -> None:
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(width, width, 7, padding=3, groups=width), _Axes(0, 2, 3, 1), NORM(width),
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), _Axes(0, 3, 1, 2))
        self.layer_scale = nn.Parameter(full((width, 1, 1), scale, dtype="float32"))
        self.stochastic_depth = nn.DropPath(drop)

    def forward(self, input: Tensor) -> Tensor:
        """The block's result."""
        return input + self.stochastic_depth(self.layer_scale * self.block(input))


class ConvNeXt(nn.Module):
    """ConvNeXt for images (batch, in_channels, height, width): the scores of the classes.

    `depths` and `dims`: blocks and channels of the stages. `drop_path`: the probability with which the last block is
    dropped in training. `layer_scale_init`: what a block's result is first scaled with.
    """

    def __init__(self, num_classes: int = 1000, depths: Sequence[int] = (3, 3, 9, 3),
                 dims: Sequence[int] = (96, 192, 384, 768), drop_path: float = 0.0, layer_scale_init: float = 1e-6,
                 in_channels: int = 3) -> None:
        super().__init__()
        rates = iter(drop_rates(drop_path, sum(depths)))
        features: list[nn.Module] = [nn.Sequential(nn.Conv2d(in_channels, dims[0], 4, 4),
                                                   _LayerNorm2d(dims[0], eps=1e-6))]
        for number, (depth, width) in enumerate(zip(depths, dims, strict=True)):
            if number:
                narrow = dims[number - 1]
                features.append(nn.Sequential(_LayerNorm2d(narrow, eps=1e-6), nn.Conv2d(narrow, width, 2, 2)))
            features.append(nn.Sequential(*[_Block(width, layer_scale_init, next(rates)) for _ in range(depth)]))
        self.features, self.avgpool = nn.Sequential(*features), nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(_LayerNorm2d(dims[-1], eps=1e-6), nn.Flatten(),
                                        nn.Linear(dims[-1], num_classes))
        start(self, "truncated", "truncated")

    def forward(self, input: Tensor) -> Tensor:
        """The scores (batch, classes)."""
        return self.classifier(self.avgpool(self.features(input)))


@register_model
def convnext_tiny(num_classes: int = 1000, drop_path: float = 0.1, **kwargs: Any) -> ConvNeXt:
    """ConvNeXt-T: 28,589,128 parameters for 1000 classes."""
    return ConvNeXt(num_classes, drop_path=drop_path, **kwargs)


@register_model
def convnext_small(num_classes: int = 1000, drop_path: float = 0.4, **kwargs: Any) -> ConvNeXt:
    """ConvNeXt-S: 50,223,688 parameters for 1000 classes."""
    return ConvNeXt(num_classes, (3, 3, 27, 3), drop_path=drop_path, **kwargs)


@register_model
def convnext_base(num_classes: int = 1000, drop_path: float = 0.5, **kwargs: Any) -> ConvNeXt:
    """ConvNeXt-B: 88,591,464 parameters for 1000 classes."""
    return ConvNeXt(num_classes, (3, 3, 27, 3), (128, 256, 512, 1024), drop_path, **kwargs)


@register_model
def convnext_large(num_classes: int = 1000, drop_path: float = 0.5, **kwargs: Any) -> ConvNeXt:
    """ConvNeXt-L: 197,767,336 parameters for 1000 classes."""
    return ConvNeXt(num_classes, (3, 3, 27, 3), (192, 384, 768, 1536), drop_path, **kwargs)


@register_model
def convnext_xlarge(num_classes: int = 1000, drop_path: float = 0.5, **kwargs: Any) -> ConvNeXt:
    """ConvNeXt-XL: 350,196,968 parameters for 1000 classes."""
    return ConvNeXt(num_classes, (3, 3, 27, 3), (256, 512, 1024, 2048), drop_path, **kwargs)

"""MobileNet V3: inverted residuals with squeeze and excitation, found by search.

Source: A. Howard et al., Searching for MobileNetV3, arXiv:1905.02244 (tables 1 and 2).
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from .. import nn
from ..array import Tensor
from .blocks import Classifier, ConvNormAct, SqueezeExcite, divisible, start
from .registry import register_model

NORM = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
GATE = nn.Hardsigmoid


class Bneck(NamedTuple):
    """One block: size of the depthwise kernel, channels inside and after, gates, hard swish, and stride."""

    kernel: int
    hidden: int
    outputs: int
    is_gated: bool
    is_swish: bool
    stride: int


LARGE = tuple(Bneck(*row) for row in (
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1)))
SMALL = tuple(Bneck(*row) for row in (
    (3, 16, 16, True, False, 2), (3, 72, 24, False, False, 2), (3, 88, 24, False, False, 1),
    (5, 96, 40, True, True, 2), (5, 240, 40, True, True, 1), (5, 240, 40, True, True, 1), (5, 120, 48, True, True, 1),
    (5, 144, 48, True, True, 1), (5, 288, 96, True, True, 2), (5, 576, 96, True, True, 1), (5, 576, 96, True, True, 1)))


class _Residual(nn.Module):
    """Expansion, depthwise convolution, gates and projection; added to the input where shapes allow."""

    def __init__(self, inputs: int, row: Bneck) -> None:
        super().__init__()
        block = partial(ConvNormAct, norm=NORM, activation=nn.Hardswish if row.is_swish else nn.ReLU)
        expand = [block(inputs, row.hidden, 1)] if row.hidden != inputs else []
        gates = [SqueezeExcite(row.hidden, divisible(row.hidden // 4), gate=GATE)] if row.is_gated else []
        self.block = nn.Sequential(*expand, block(row.hidden, row.hidden, row.kernel, row.stride, row.hidden), *gates,
                                   ConvNormAct(row.hidden, row.outputs, 1, norm=NORM, activation=None))
        self.is_added = row.stride == 1 and inputs == row.outputs

    def forward(self, input: Tensor) -> Tensor:
        """The block's result."""
        found = self.block(input)
        return input + found if self.is_added else found


class MobileNet_V3(Classifier):
    """MobileNet V3 for images (batch, in_channels, height, width): the scores of the classes.

    `bottleneck_cfg`: a row a block (kernel, hidden, outputs, is_gated, is_swish, stride); `last_channel`: the width
    before the scores.
    """

    def __init__(self, bottleneck_cfg: Sequence[Sequence[Any]], last_channel: int, num_classes: int = 1000,
                 in_channels: int = 3, dropout: float = 0.2) -> None:
        super().__init__()
        block, width = partial(ConvNormAct, norm=NORM, activation=nn.Hardswish), 16
        features: list[nn.Module] = [block(in_channels, width, 3, 2)]
        for each in bottleneck_cfg:
            row = Bneck(*each)
            features.append(_Residual(width, row))
            width = row.outputs
        self.features = nn.Sequential(*features, block(width, 6 * width, 1))
        self.avgpool, self.flatten = nn.AdaptiveAvgPool2d(1), nn.Flatten()
        self.classifier = nn.Sequential(nn.Linear(6 * width, last_channel), nn.Hardswish(), nn.Dropout(dropout),
                                        nn.Linear(last_channel, num_classes))
        start(self, "kaiming", 0.01)


@register_model
def mobilenet_v3_small(num_classes: int = 1000, **kwargs: Any) -> MobileNet_V3:
    """MobileNet V3 small: 2,542,856 parameters for 1000 classes."""
    return MobileNet_V3(SMALL, 1024, num_classes, **kwargs)


@register_model
def mobilenet_v3_large(num_classes: int = 1000, **kwargs: Any) -> MobileNet_V3:
    """MobileNet V3 large: 5,483,032 parameters for 1000 classes."""
    return MobileNet_V3(LARGE, 1280, num_classes, **kwargs)

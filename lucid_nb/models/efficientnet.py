"""EfficientNet V1 and V2: inverted residuals whose width and depth grow together.

Sources: M. Tan, Q. Le, EfficientNet, arXiv:1905.11946; EfficientNetV2, arXiv:2104.00298.
"""

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from .. import nn
from ..array import Tensor
from .blocks import Classifier, ConvNormAct, Layer, SqueezeExcite, divisible, start
from .registry import register_model


class Stage(NamedTuple):
    """Blocks of one width; in fused ones expansion and depthwise convolution are one, the stride is of the first."""

    is_fused: bool
    expansion: int
    kernel: int
    stride: int
    outputs: int
    blocks: int


V1 = tuple(Stage(False, *row) for row in (
    (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1)))
V2_S = (Stage(True, 1, 3, 1, 24, 2), Stage(True, 4, 3, 2, 48, 4), Stage(True, 4, 3, 2, 64, 4),
        Stage(False, 4, 3, 2, 128, 6), Stage(False, 6, 3, 1, 160, 9), Stage(False, 6, 3, 2, 256, 15))
V2_M = (Stage(True, 1, 3, 1, 24, 3), Stage(True, 4, 3, 2, 48, 5), Stage(True, 4, 3, 2, 80, 5),
        Stage(False, 4, 3, 2, 160, 7), Stage(False, 6, 3, 1, 176, 14), Stage(False, 6, 3, 2, 304, 18),
        Stage(False, 6, 3, 1, 512, 5))
V2_L = (Stage(True, 1, 3, 1, 32, 4), Stage(True, 4, 3, 2, 64, 7), Stage(True, 4, 3, 2, 96, 7),
        Stage(False, 4, 3, 2, 192, 10), Stage(False, 6, 3, 1, 224, 19), Stage(False, 6, 3, 2, 384, 25),
        Stage(False, 6, 3, 1, 640, 7))


class _Block(nn.Module):
    """One inverted residual, dropped with a probability where it is added to its input."""

    def __init__(self, inputs: int, stage: Stage, stride: int, drop: float, norm: Layer) -> None:
        super().__init__()
        hidden = divisible(inputs * stage.expansion)
        block = partial(ConvNormAct, norm=norm, activation=nn.SiLU)
        self.block = nn.Sequential(*(self._fused if stage.is_fused else self._separate)(
            block, inputs, hidden, stage._replace(stride=stride)))
        self.is_added = stride == 1 and inputs == stage.outputs
        self.stochastic_depth = nn.DropPath(drop)

    def _fused(self, block: Layer, inputs: int, hidden: int, stage: Stage) -> list[nn.Module]:
        if hidden == inputs:
            return [block(inputs, stage.outputs, stage.kernel, stage.stride)]
        return [block(inputs, hidden, stage.kernel, stage.stride), block(hidden, stage.outputs, 1, activation=None)]

    def _separate(self, block: Layer, inputs: int, hidden: int, stage: Stage) -> list[nn.Module]:
        expand = [block(inputs, hidden, 1)] if hidden != inputs else []
        return [*expand, block(hidden, hidden, stage.kernel, stage.stride, hidden),
                SqueezeExcite(hidden, max(1, inputs // 4), nn.SiLU), block(hidden, stage.outputs, 1, activation=None)]

    def forward(self, input: Tensor) -> Tensor:
        """The block's result."""
        found = self.block(input)
        return input + self.stochastic_depth(found) if self.is_added else found


class EfficientNet(Classifier):
    """EfficientNet for images (batch, in_channels, height, width): the scores of the classes.

    `width_coef` and `depth_coef` scale the channels and blocks of `stages`. `last_channels`: the width before the
    scores, by default four times what the stages give. `stochastic_depth`: the probability with which the last block
    is dropped in training.
    """

    def __init__(self, num_classes: int = 1000, width_coef: float = 1.0, depth_coef: float = 1.0, dropout: float = 0.2,
                 stochastic_depth: float = 0.2, stages: Sequence[Stage] = V1, stem_channels: int = 32,
                 last_channels: int | None = None, in_channels: int = 3, norm: Layer = nn.BatchNorm2d) -> None:
        super().__init__()
        scaled = [stage._replace(outputs=divisible(stage.outputs * width_coef),
                                 blocks=math.ceil(stage.blocks * depth_coef)) for stage in stages]
        block = partial(ConvNormAct, norm=norm, activation=nn.SiLU)
        widths = [divisible(stem_channels * width_coef), *(stage.outputs for stage in scaled)]
        count = sum(stage.blocks for stage in scaled)
        rates = (stochastic_depth * number / count for number in range(count))
        layers = [nn.Sequential(*[_Block(stage.outputs if number else inputs, stage, 1 if number else stage.stride,
                                         next(rates), norm) for number in range(stage.blocks)])
                  for stage, (inputs, _) in zip(scaled, pairwise(widths))]
        last = last_channels or 4 * widths[-1]
        self.features = nn.Sequential(block(in_channels, widths[0], 3, 2), *layers, block(widths[-1], last, 1))
        self.avgpool, self.flatten = nn.AdaptiveAvgPool2d(1), nn.Flatten()
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, num_classes))
        start(self, "kaiming", "uniform")


# Width, depth and dropout of B0 to B7, whose last three have norms of their own.
SCALES = ((1.0, 1.0, 0.2), (1.0, 1.1, 0.2), (1.1, 1.2, 0.3), (1.2, 1.4, 0.3), (1.4, 1.8, 0.4), (1.6, 2.2, 0.4),
          (1.8, 2.6, 0.5), (2.0, 3.1, 0.5))
LARGE_NORM = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
NORM_V2 = partial(nn.BatchNorm2d, eps=0.001)


def _scaled(number: int, num_classes: int, options: dict[str, Any]) -> EfficientNet:
    width, depth, dropout = SCALES[number]
    given = {"dropout": dropout, "norm": LARGE_NORM if number >= 5 else nn.BatchNorm2d, **options}
    return EfficientNet(num_classes, width, depth, **given)


@register_model
def efficientnet_b0(num_classes: int = 1000, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B0, for images of 224x224: 5,288,548 parameters for 1000 classes."""
    return _scaled(0, num_classes, kwargs)


@register_model
def efficientnet_b1(num_classes: int = 1000, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B1, for images of 240x240: 7,794,184 parameters for 1000 classes."""
    return _scaled(1, num_classes, kwargs)


@register_model
def efficientnet_b2(num_classes: int = 1000, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B2, for images of 260x260: 9,109,994 parameters for 1000 classes."""
    return _scaled(2, num_classes, kwargs)


@register_model
def efficientnet_b3(num_classes: int = 1000, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B3, for images of 300x300: 12,233,232 parameters for 1000 classes."""
    return _scaled(3, num_classes, kwargs)


@register_model
def efficientnet_b4(num_classes: int = 1000, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B4, for images of 380x380: 19,341,616 parameters for 1000 classes."""
    return _scaled(4, num_classes, kwargs)


@register_model
def efficientnet_b5(num_classes: int = 1000, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B5, for images of 456x456: 30,389,784 parameters for 1000 classes."""
    return _scaled(5, num_classes, kwargs)


@register_model
def efficientnet_b6(num_classes: int = 1000, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B6, for images of 528x528: 43,040,704 parameters for 1000 classes."""
    return _scaled(6, num_classes, kwargs)


@register_model
def efficientnet_b7(num_classes: int = 1000, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B7, for images of 600x600: 66,347,960 parameters for 1000 classes."""
    return _scaled(7, num_classes, kwargs)


def _second(stages: Sequence[Stage], stem: int, dropout: float, num_classes: int,
            options: dict[str, Any]) -> EfficientNet:
    given = {"dropout": dropout, "norm": NORM_V2, **options}
    return EfficientNet(num_classes, stages=stages, stem_channels=stem, last_channels=1280, **given)


@register_model
def efficientnet_v2_s(num_classes: int = 1000, **kwargs: Any) -> EfficientNet:
    """EfficientNetV2-S, for images of 384x384: 21,458,488 parameters for 1000 classes."""
    return _second(V2_S, 24, 0.2, num_classes, kwargs)


@register_model
def efficientnet_v2_m(num_classes: int = 1000, **kwargs: Any) -> EfficientNet:
    """EfficientNetV2-M, for images of 480x480: 54,139,356 parameters for 1000 classes."""
    return _second(V2_M, 24, 0.3, num_classes, kwargs)


@register_model
def efficientnet_v2_l(num_classes: int = 1000, **kwargs: Any) -> EfficientNet:
    """EfficientNetV2-L, for images of 480x480: 118,515,272 parameters for 1000 classes."""
    return _second(V2_L, 32, 0.4, num_classes, kwargs)

"""What several networks are built of; parameters have the names of PyTorch's library of vision models."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from .. import nn
from ..array import Tensor

Layer = Callable[..., nn.Module]


class Classifier(nn.Module):
    """Base of networks whose `features` are averaged by `avgpool`, made flat, and told apart by `classifier`."""

    def forward(self, input: Tensor) -> Tensor:
        """The scores (batch, classes)."""
        return self.classifier(self.flatten(self.avgpool(self.features(input))))


def divisible(channels: float, divisor: int = 8) -> int:
    """Channels rounded to a multiple of `divisor` that is not below 0.9 of them.

    Source: the published code of MobileNet, which the later networks follow.

    >>> from lucid_nb.models.blocks import divisible
    >>> divisible(30), divisible(11), divisible(3)
    (32, 16, 8)
    """
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded


class ConvNormAct(nn.Sequential):
    """A convolution without bias that keeps the extent at stride 1, a norm, and an activation unless it is None."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int = 3, stride: int = 1, groups: int = 1,
                 norm: Layer = nn.BatchNorm2d, activation: Layer | None = nn.ReLU) -> None:
        layers = [nn.Conv2d(in_channels, out_channels, kernel_size, stride, kernel_size // 2, groups=groups,
                            bias=False), norm(out_channels)]
        super().__init__(*layers, *([] if activation is None else [activation()]))


class SqueezeExcite(nn.Module):
    """Channels weighted by gates in (0, 1) that two 1x1 convolutions make of the channels' means.

    Source: J. Hu et al., Squeeze-and-excitation networks, arXiv:1709.01507.
    """

    def __init__(self, channels: int, squeezed: int, activation: Layer = nn.ReLU, gate: Layer = nn.Sigmoid) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1, self.fc2 = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)
        self.activation, self.scale_activation = activation(), gate()

    def forward(self, input: Tensor) -> Tensor:
        """The input (batch, channels, height, width) with its channels weighted."""
        found = self.fc2(self.activation(self.fc1(self.avgpool(input))))
        return input * self.scale_activation(found)


class Mlp(nn.Sequential):
    """Linear, GELU, dropout, linear, dropout: the network on each position of a vision transformer."""

    def __init__(self, features: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__(nn.Linear(features, hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, features),
                         nn.Dropout(dropout))


def drop_rates(last: float, blocks: int) -> list[float]:
    """The probabilities with which blocks are dropped, from 0 for the first one up to `last`.

    >>> from lucid_nb.models.blocks import drop_rates
    >>> drop_rates(0.5, 3)
    [0.0, 0.25, 0.5]
    """
    return [last * number / max(blocks - 1, 1) for number in range(blocks)]


# -------------------------------------------------------------------------------------------------- initial weights
def _start_convolution(layer: Any) -> None:
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")


def _start_linear(std: float, layer: Any) -> None:
    nn.init.normal_(layer.weight, 0.0, std)


def _start_uniform(layer: Any) -> None:
    bound = 1 / math.sqrt(layer.out_features)
    nn.init.uniform_(layer.weight, -bound, bound)


def _start_truncated(layer: Any) -> None:
    nn.init.trunc_normal_(layer.weight, std=0.02)


def start(model: nn.Module, convolutions: str | None = "kaiming", linears: str | float | None = None) -> None:
    """Draw new weights of all convolutions and linear layers by a rule, None for their own; the biases become 0.

    "kaiming": normal, by fan out; "truncated": normal of 0.02, cut at 2; "uniform": within 1 / sqrt(out_features); a
    number: normal of that.
    """
    draws: dict[str, Callable[[Any], None]] = {"kaiming": _start_convolution, "uniform": _start_uniform,
                                               "truncated": _start_truncated}
    for module in model.modules():
        rule = convolutions if isinstance(module, nn.Conv2d) else linears if isinstance(module, nn.Linear) else None
        if rule is not None:
            (draws[rule] if isinstance(rule, str) else partial(_start_linear, rule))(module)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

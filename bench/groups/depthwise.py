"""Depthwise convolutions of MobileNet, EfficientNet and ConvNeXt, and along one axis, beside PyTorch's."""

from groups.convolution import Layer, forward, gradient
from harness import Group


def depthwise(channels: int, sizes: tuple[int, ...], taps: int, stride: int = 1) -> Layer:
    """A layer with a filter for each channel."""
    return Layer(channels, channels, sizes, taps, stride, taps // 2, 1, channels)


LAYERS = [depthwise(32, (112, 112), 3), depthwise(96, (112, 112), 3, 2), depthwise(144, (56, 56), 3),
          depthwise(144, (56, 56), 3, 2), depthwise(192, (28, 28), 3), depthwise(384, (14, 14), 3),
          depthwise(960, (14, 14), 3), depthwise(240, (28, 28), 5), depthwise(240, (28, 28), 5, 2),
          depthwise(480, (14, 14), 5), depthwise(96, (56, 56), 7), depthwise(192, (28, 28), 7),
          depthwise(384, (14, 14), 7)]
AUDIO = [depthwise(256, (1000,), taps) for taps in (3, 7, 15, 31)]


def run() -> list[Group]:
    """Forward and both gradients, as the issue judges them."""
    group = Group("depthwise, forward and gradients", "0.40 / 0.70")
    for batch, layer in [(batch, layer) for batch in (1, 8) for layer in LAYERS] + [(8, layer) for layer in AUDIO]:
        forward(group, batch, layer)
        for of_weights in (False, True):
            gradient(group, batch, layer, of_weights)
    return [group]

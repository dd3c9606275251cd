"""Winograd's convolution (config.winograd, off by default) beside PyTorch's direct one; errors are about 1e-5."""

from groups.convolution import Layer, forward, gradient
from harness import Group

from lucid_nb import config

LAYERS = [Layer(64, 64, (56, 56), 3, 1, 1), Layer(128, 128, (28, 28), 3, 1, 1), Layer(256, 256, (14, 14), 3, 1, 1),
          Layer(32, 64, (32, 32), 3, 1, 1), Layer(64, 64, (28, 28), 3, 1, 1, groups=4)]


def run() -> list[Group]:
    """Forward and the gradient of the input, with the setting on."""
    group, before = Group("Winograd, opt-in", "0.71 / 1.0"), config.winograd
    try:
        config.winograd = True
        for batch in (1, 8):
            for layer in LAYERS:
                forward(group, batch, layer, has_others=False)
                gradient(group, batch, layer, of_weights=False)
    finally:
        config.winograd = before
    return [group]

"""LeNet: convolutions of 5x5, each followed by pooling, then linear layers.

Source: Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Gradient-based learning applied to document recognition, 1998.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from .. import nn
from ..array import Tensor
from .registry import register_model


class LeNet(nn.Module):
    """LeNet for grey images (batch, in_channels, height, width): the scores of the classes.

    `conv_layers`: the channels after each convolution. `clf_layers`: the sizes after each linear layer, the last one
    the number of classes. `clf_in_features`: what the convolutions leave of an image.
    """

    def __init__(self, conv_layers: Sequence[int], clf_layers: Sequence[int], clf_in_features: int,
                 _base_activation: Callable[[], nn.Module] = nn.Tanh, in_channels: int = 1) -> None:
        super().__init__()
        features: list[nn.Module] = []
        for inputs, outputs in pairwise([in_channels, *conv_layers]):
            features += [nn.Conv2d(inputs, outputs, 5), _base_activation(), nn.AvgPool2d(2, 2)]
        classifier: list[nn.Module] = []
        for inputs, outputs in pairwise([clf_in_features, *clf_layers]):
            classifier += [nn.Linear(inputs, outputs), _base_activation()]
        self.features, self.flatten = nn.Sequential(*features), nn.Flatten()
        self.classifier = nn.Sequential(*classifier[:-1])

    def forward(self, input: Tensor) -> Tensor:
        """The scores (batch, classes)."""
        return self.classifier(self.flatten(self.features(input)))


@register_model
def lenet_1(num_classes: int = 10, **kwargs: Any) -> LeNet:
    """LeNet-1 for images of 28x28: 4 and 12 channels, one linear layer."""
    return LeNet([4, 12], [num_classes], 12 * 4 * 4, **kwargs)


@register_model
def lenet_4(num_classes: int = 10, **kwargs: Any) -> LeNet:
    """LeNet-4 for images of 32x32: 4 and 16 channels, 120 features."""
    return LeNet([4, 16], [120, num_classes], 16 * 5 * 5, **kwargs)


@register_model
def lenet_5(num_classes: int = 10, **kwargs: Any) -> LeNet:
    """LeNet-5 for images of 32x32: 6 and 16 channels, 120 and 84 features.

    >>> lnb.models.lenet_5()(np.zeros((2, 1, 32, 32), np.float32)).shape
    (2, 10)
    """
    return LeNet([6, 16], [120, 84, num_classes], 16 * 5 * 5, **kwargs)

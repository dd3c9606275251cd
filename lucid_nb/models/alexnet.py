"""AlexNet: five convolutions and three linear layers.

Source: A. Krizhevsky, One weird trick for parallelizing convolutional neural networks, arXiv:1404.5997.
"""

from typing import Any

from .. import nn
from .blocks import Classifier
from .registry import register_model


class AlexNet(Classifier):
    """AlexNet for images (batch, in_channels, height, width), made for 224x224: the scores of the classes."""

    def __init__(self, num_classes: int = 1000, in_channels: int = 3, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(in_channels, 64, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(),
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2))
        self.avgpool, self.flatten = nn.AdaptiveAvgPool2d(6), nn.Flatten()
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(256 * 6 * 6, 4096), nn.ReLU(),
            nn.Dropout(dropout), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, num_classes))


@register_model
def alexnet(num_classes: int = 1000, **kwargs: Any) -> AlexNet:
    """AlexNet: 61,100,840 parameters for 1000 classes."""
    return AlexNet(num_classes, **kwargs)

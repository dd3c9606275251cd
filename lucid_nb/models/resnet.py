"""ResNet: blocks of convolutions that learn what to add to their input.

Source: K. He, X. Zhang, S. Ren, J. Sun, Deep residual learning for image recognition, arXiv:1512.03385; the deep stem
and the averages before strided shortcuts: T. He et al., Bag of tricks, arXiv:1812.01187.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import nn
from ..array import Tensor
from ..errors import ConfigError

STEMS = (None, "deep", "small")


def convolution(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    """A convolution without bias that keeps the extent at stride 1."""
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class BasicBlock(nn.Module):
    """relu(x + norm(conv(relu(norm(conv(x)))))), both convolutions 3x3; `downsample` fits x to the result."""

    expansion = 1

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1,
                 downsample: nn.Module | None = None) -> None:
        super().__init__()
        self.conv1, self.bn1 = convolution(in_channels, out_channels, 3, stride), nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU()
        self.conv2, self.bn2 = convolution(out_channels, out_channels, 3), nn.BatchNorm2d(out_channels)
        self.downsample = downsample

    def forward(self, input: Tensor) -> Tensor:
        """The block's result."""
        found = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(input)))))
        return self.relu(found + (input if self.downsample is None else self.downsample(input)))


class ResNet(nn.Module):
    """A ResNet of four layers of blocks over images (batch, in_channels, height, width): the scores of the classes.

    `layers`: the blocks of each layer; `channels`: their channels before expansion. `stem_type`: None is a 7x7
    convolution and a max-pool, both with stride 2; "deep" has three 3x3 convolutions instead of the 7x7 one; "small",
    for images such as 32x32, is one 3x3 convolution with stride 1. With `avg_down` shortcuts average before they
    stride. `block_args` go to every block. Parameters have the names of PyTorch's models.
    """

    def __init__(self, block: type[BasicBlock], layers: Sequence[int], num_classes: int = 1000, in_channels: int = 3,
                 stem_width: int = 64, stem_type: str | None = None, avg_down: bool = False,
                 channels: Sequence[int] = (64, 128, 256, 512), block_args: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        if stem_type not in STEMS:
            raise ConfigError(f"ResNet: stem_type is {stem_type!r}. Use None, 'deep' or 'small'.")
        self.block, self.avg_down, self.block_args = block, avg_down, dict(block_args or {})
        self.width = stem_width
        self.conv1 = _stem(in_channels, stem_width, stem_type)
        self.bn1, self.relu = nn.BatchNorm2d(stem_width), nn.ReLU()
        self.maxpool = nn.Identity() if stem_type == "small" else nn.MaxPool2d(3, 2, padding=1)
        for number, (blocks, width) in enumerate(zip(layers, channels)):
            self.add_module(f"layer{number + 1}", self._layer(width, blocks, 1 if number == 0 else 2))
        self.avgpool, self.flatten = nn.AdaptiveAvgPool2d(1), nn.Flatten()
        self.fc = nn.Linear(self.width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def _layer(self, width: int, blocks: int, stride: int) -> nn.Sequential:
        """Blocks of one width, the first with the stride."""
        outputs, found = width * self.block.expansion, []
        for number in range(blocks):
            step = stride if number == 0 else 1
            needs_fit = step != 1 or self.width != outputs
            shortcut = self._shortcut(self.width, outputs, step) if needs_fit else None
            found.append(self.block(self.width, width, step, shortcut, **self.block_args))
            self.width = outputs
        return nn.Sequential(*found)

    def _shortcut(self, inputs: int, outputs: int, stride: int) -> nn.Sequential:
        """What fits a block's input to its result."""
        if not self.avg_down:
            return nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        average = nn.AvgPool2d(stride, stride, ceil_mode=True, count_include_pad=False)
        return nn.Sequential(average if stride != 1 else nn.Identity(), convolution(inputs, outputs, 1),
                             nn.BatchNorm2d(outputs))

    def forward(self, input: Tensor) -> Tensor:
        """The scores (batch, classes)."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(input))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.flatten(self.avgpool(x)))


def _stem(inputs: int, width: int, kind: str | None) -> nn.Module:
    """The convolutions before the first norm."""
    if kind == "small":
        return convolution(inputs, width, 3)
    if kind is None:
        return convolution(inputs, width, 7, 2)
    half = width // 2
    return nn.Sequential(convolution(inputs, half, 3, 2), nn.BatchNorm2d(half), nn.ReLU(), convolution(half, half, 3),
                         nn.BatchNorm2d(half), nn.ReLU(), convolution(half, width, 3))


def resnet_18(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNet-18: two basic blocks a layer.

    >>> model = lnb.models.resnet_18(num_classes=10, stem_type="small")
    >>> model(np.zeros((2, 3, 32, 32), np.float32)).shape, model.count_parameters()
    ((2, 10), 11173962)
    """
    return ResNet(BasicBlock, [2, 2, 2, 2], num_classes, **kwargs)


def resnet_34(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNet-34: three, four, six and three basic blocks."""
    return ResNet(BasicBlock, [3, 4, 6, 3], num_classes, **kwargs)

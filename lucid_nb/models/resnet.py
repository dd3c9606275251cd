"""ResNet, wide ResNet, ResNeXt and SENet: blocks of convolutions that learn what to add to their input.

Sources: K. He, X. Zhang, S. Ren, J. Sun, Deep residual learning for image recognition, arXiv:1512.03385; the deep stem
and the averages before strided shortcuts: T. He et al., Bag of tricks, arXiv:1812.01187; S. Zagoruyko, N. Komodakis,
Wide residual networks, arXiv:1605.07146; S. Xie et al., Aggregated residual transformations, arXiv:1611.05431; J. Hu
et al., Squeeze-and-excitation networks, arXiv:1709.01507 (senet.py).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import nn
from ..array import Tensor
from ..errors import ConfigError
from .blocks import SqueezeExcite, divisible, start
from .registry import register_model

STEMS = (None, "deep", "small")
LAYERS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3),
          200: (3, 24, 36, 3)}         # blocks by layer; below 50 basic ones


def convolution(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    """A convolution without bias that keeps the extent at stride 1."""
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, groups=groups, bias=False)


class _Block(nn.Module):
    """relu(gates(branch(x)) + x); `downsample` fits x to the result, `reduction` gives the gates (None: none)."""

    expansion = 1

    def _finish(self, outputs: int, downsample: nn.Module | None, reduction: int | None) -> None:
        """Set up what follows the branch, last, as the order of saved weights is that of assignment."""
        self.relu = nn.ReLU()
        self.se = None if reduction is None else SqueezeExcite(outputs, divisible(outputs / reduction))
        self.downsample = downsample

    def branch(self, input: Tensor) -> Tensor:
        """What is added to the input."""
        raise NotImplementedError(f"{type(self).__name__}: branch is missing. Give what is added to the input.")

    def forward(self, input: Tensor) -> Tensor:
        """The block's result."""
        found = self.branch(input)
        found = found if self.se is None else self.se(found)
        return self.relu(found + (input if self.downsample is None else self.downsample(input)))


class BasicBlock(_Block):
    """The branch is two 3x3 convolutions, each followed by a norm."""

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1, downsample: nn.Module | None = None,
                 reduction: int | None = None) -> None:
        super().__init__()
        self.conv1, self.bn1 = convolution(in_channels, out_channels, 3, stride), nn.BatchNorm2d(out_channels)
        self.conv2, self.bn2 = convolution(out_channels, out_channels, 3), nn.BatchNorm2d(out_channels)
        self._finish(out_channels, downsample, reduction)

    def branch(self, input: Tensor) -> Tensor:
        """What is added to the input."""
        return self.bn2(self.conv2(self.relu(self.bn1(self.conv1(input)))))


class Bottleneck(_Block):
    """The branch is a 1x1 convolution to fewer channels, one of 3x3 in `cardinality` groups, and 1x1 to more.

    `base_width`: the channels of one group where the block has 64.
    """

    expansion = 4

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1, downsample: nn.Module | None = None,
                 reduction: int | None = None, cardinality: int = 1, base_width: int = 64) -> None:
        outputs, width = out_channels * self.expansion, int(out_channels * base_width / 64) * cardinality
        super().__init__()
        self.conv1, self.bn1 = convolution(in_channels, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = convolution(width, width, 3, stride, cardinality), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = convolution(width, outputs, 1), nn.BatchNorm2d(outputs)
        self._finish(outputs, downsample, reduction)

    def branch(self, input: Tensor) -> Tensor:
        """What is added to the input."""
        found = self.relu(self.bn1(self.conv1(input)))
        return self.bn3(self.conv3(self.relu(self.bn2(self.conv2(found)))))


class ResNet(nn.Module):
    """A ResNet of four layers of blocks over images (batch, in_channels, height, width): the scores of the classes.

    `layers`: the blocks of each layer; `channels`: their channels before expansion. `stem_type`: None is a 7x7
    convolution and a max-pool, both with stride 2; "deep" has three 3x3 convolutions instead of the 7x7 one; "small",
    for images such as 32x32, is one 3x3 convolution with stride 1. With `avg_down` shortcuts average before they
    stride. `block_args` go to every block. Parameters have the names of PyTorch's models.
    """

    def __init__(self, block: type[BasicBlock | Bottleneck], layers: Sequence[int], num_classes: int = 1000,
                 in_channels: int = 3, stem_width: int = 64, stem_type: str | None = None, avg_down: bool = False,
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
        start(self, "kaiming")

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


def variant(depth: int, block_args: dict[str, Any], num_classes: int, options: dict[str, Any]) -> ResNet:
    """Blocks with arguments of their own, which `block_args` among the options extend."""
    given = {**options, "block_args": {**block_args, **options.get("block_args", {})}}
    return ResNet(BasicBlock if depth < 50 else Bottleneck, LAYERS[depth], num_classes, **given)


@register_model
def resnet_18(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNet-18, two basic blocks a layer: 11,689,512 parameters for 1000 classes.

    >>> model = lnb.models.resnet_18(num_classes=10, stem_type="small")
    >>> model(np.zeros((2, 3, 32, 32), np.float32)).shape, model.count_parameters()
    ((2, 10), 11173962)
    """
    return ResNet(BasicBlock, LAYERS[18], num_classes, **kwargs)


@register_model
def resnet_34(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNet-34, of basic blocks: 21,797,672 parameters for 1000 classes."""
    return ResNet(BasicBlock, LAYERS[34], num_classes, **kwargs)


@register_model
def resnet_50(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNet-50, of bottlenecks: 25,557,032 parameters for 1000 classes."""
    return ResNet(Bottleneck, LAYERS[50], num_classes, **kwargs)


@register_model
def resnet_101(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNet-101: 44,549,160 parameters for 1000 classes."""
    return ResNet(Bottleneck, LAYERS[101], num_classes, **kwargs)


@register_model
def resnet_152(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNet-152: 60,192,808 parameters for 1000 classes."""
    return ResNet(Bottleneck, LAYERS[152], num_classes, **kwargs)


@register_model
def resnet_200(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNet-200: 64,673,832 parameters for 1000 classes."""
    return ResNet(Bottleneck, LAYERS[200], num_classes, **kwargs)


@register_model
def wide_resnet_50(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """Wide ResNet-50-2, with twice the channels within blocks: 68,883,240 parameters."""
    return variant(50, {"base_width": 128}, num_classes, kwargs)


@register_model
def wide_resnet_101(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """Wide ResNet-101-2: 126,886,696 parameters for 1000 classes."""
    return variant(101, {"base_width": 128}, num_classes, kwargs)


@register_model
def resnext_50_32x4d(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNeXt-50, 32 groups of 4 channels: 25,028,904 parameters."""
    return variant(50, {"cardinality": 32, "base_width": 4}, num_classes, kwargs)


@register_model
def resnext_101_32x4d(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNeXt-101, 32 groups of 4 channels: 44,177,704 parameters."""
    return variant(101, {"cardinality": 32, "base_width": 4}, num_classes, kwargs)


@register_model
def resnext_101_32x8d(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNeXt-101, 32 groups of 8 channels: 88,791,336 parameters."""
    return variant(101, {"cardinality": 32, "base_width": 8}, num_classes, kwargs)


@register_model
def resnext_101_32x16d(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNeXt-101, 32 groups of 16 channels: 194,026,792 parameters."""
    return variant(101, {"cardinality": 32, "base_width": 16}, num_classes, kwargs)


@register_model
def resnext_101_32x32d(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNeXt-101, 32 groups of 32 channels: 468,530,472 parameters."""
    return variant(101, {"cardinality": 32, "base_width": 32}, num_classes, kwargs)


@register_model
def resnext_101_64x4d(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """ResNeXt-101, 64 groups of 4 channels: 83,455,272 parameters."""
    return variant(101, {"cardinality": 64, "base_width": 4}, num_classes, kwargs)

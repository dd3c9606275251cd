"""Small blocks that networks for images are built of."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ..array import Tensor
from ..creation import asarray
from ..errors import ConfigError, ShapeError
from ..ops.joining import stack
from ..windows import Padding, Size
from .activation import ReLU, Sigmoid, Softmax
from .container import ModuleList, Sequential
from .conv import Conv1d, Conv2d, Conv3d
from .linear import Linear
from .module import Module
from .norm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from .pool import AdaptiveAvgPool2d


def images(kind: str, input: Any, channels: int) -> Tensor:
    """The input as images of so many channels."""
    x = asarray(input)
    if x.ndim != 4 or x.shape[1] != channels:
        raise ShapeError(f"{kind}: an input of shape {x.shape}. Give images, (batch, {channels}, height, width).")
    return x


def squeezed(kind: str, channels: int, reduction: int) -> int:
    """The channels that are left of a reduction, of which there must be one."""
    if reduction < 1 or channels // reduction < 1:
        raise ConfigError(f"{kind}: reduction {reduction} of {channels} channels leaves none. Use a smaller one.")
    return channels // reduction


class _ConvBNReLU(Module):
    kinds: ClassVar[tuple[type, type]]

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Padding = 0,
                 dilation: Size = 1, groups: int = 1, conv_bias: bool = True, eps: float = 1e-5,
                 momentum: float | None = 0.1, bn_affine: bool = True, track_running_stats: bool = True) -> None:
        super().__init__()
        conv, norm = self.kinds
        self.conv = conv(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, conv_bias)
        self.bn = norm(out_channels, eps, momentum, bn_affine, track_running_stats)
        self.relu = ReLU()

    def forward(self, input: Any) -> Tensor:
        """The block's result."""
        return self.relu(self.bn(self.conv(input)))


class ConvBNReLU1d(_ConvBNReLU):
    """A convolution of signals, batch normalisation, and the rectifier: see Conv1d and BatchNorm1d."""

    kinds = Conv1d, BatchNorm1d


class ConvBNReLU2d(_ConvBNReLU):
    """A convolution of images, batch normalisation, and the rectifier: see Conv2d and BatchNorm2d.

    >>> lnb.nn.ConvBNReLU2d(3, 8, 3, padding=1, conv_bias=False)(np.ones((2, 3, 4, 4), np.float32)).shape
    (2, 8, 4, 4)
    """

    kinds = Conv2d, BatchNorm2d


class ConvBNReLU3d(_ConvBNReLU):
    """A convolution of volumes, batch normalisation, and the rectifier: see Conv3d and BatchNorm3d."""

    kinds = Conv3d, BatchNorm3d


class _DepthSeparableConv(Module):
    kind: ClassVar[type]

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Padding = 0,
                 dilation: Size = 1, bias: bool = True) -> None:
        super().__init__()
        self.depthwise = self.kind(in_channels, in_channels, kernel_size, stride, padding, dilation,
                                   groups=in_channels, bias=bias)
        self.pointwise = self.kind(in_channels, out_channels, 1, bias=bias)

    def forward(self, input: Any) -> Tensor:
        """The block's result."""
        return self.pointwise(self.depthwise(input))


class DepthSeparableConv1d(_DepthSeparableConv):
    """A convolution of each channel of signals alone, then one that mixes the channels of each position."""

    kind = Conv1d


class DepthSeparableConv2d(_DepthSeparableConv):
    """A convolution of each channel of images alone, then one that mixes the channels of each pixel.

    Source: A. Howard et al., MobileNets, arXiv:1704.04861.

    >>> lnb.nn.DepthSeparableConv2d(3, 8, 3, padding=1)(np.ones((2, 3, 4, 4), np.float32)).shape
    (2, 8, 4, 4)
    """

    kind = Conv2d


class DepthSeparableConv3d(_DepthSeparableConv):
    """A convolution of each channel of volumes alone, then one that mixes the channels of each position."""

    kind = Conv3d


class SEModule(Module):
    """Images whose channels are weighted, by two linear layers on the means of all channels: squeeze and excitation.

    Source: J. Hu, L. Shen, G. Sun, arXiv:1709.01507.

    >>> lnb.nn.SEModule(16, reduction=4)(np.ones((2, 16, 3, 3), np.float32)).shape
    (2, 16, 3, 3)
    """

    def __init__(self, in_channels: int, reduction: int = 16) -> None:
        super().__init__()
        middle = squeezed("SEModule", in_channels, reduction)
        self.avgpool = AdaptiveAvgPool2d(1)
        self.fc1, self.fc2 = Linear(in_channels, middle), Linear(middle, in_channels)
        self.relu, self.sigmoid = ReLU(), Sigmoid()

    def forward(self, input: Any) -> Tensor:
        """The weighted images."""
        x = images("SEModule", input, self.fc1.in_features)
        shares = self.sigmoid(self.fc2(self.relu(self.fc1(self.avgpool(x).reshape(x.shape[:2])))))
        return x * shares.reshape(*x.shape[:2], 1, 1)


class SelectiveKernel(Module):
    """Convolutions of images with kernels of several sizes, weighted by a softmax over them that the images decide.

    The padding is half the kernel unless it is given. `reduction`: how many times fewer channels the network of the
    weights has. The idea: X. Li et al., Selective kernel networks, arXiv:1903.06586; here one weight a kernel, for all
    channels, as lucid has it.

    >>> lnb.nn.SelectiveKernel(3, 16, [3, 5])(np.ones((2, 3, 6, 6), np.float32)).shape
    (2, 16, 6, 6)
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_sizes: Sequence[int], stride: int = 1,
                 padding: Padding | None = None, groups: int = 1, reduction: int = 16) -> None:
        super().__init__()
        if not kernel_sizes:
            raise ConfigError("SelectiveKernel: kernel_sizes is empty. Give at least one.")
        middle = squeezed("SelectiveKernel", out_channels, reduction)
        self.in_channels = in_channels
        self.branches = ModuleList([
            Conv2d(in_channels, out_channels, size, stride, size // 2 if padding is None else padding, groups=groups,
                   bias=False) for size in kernel_sizes])
        self.attention = Sequential(AdaptiveAvgPool2d(1), Conv2d(out_channels, middle, 1, bias=False),
                                    BatchNorm2d(middle), ReLU(), Conv2d(middle, len(kernel_sizes), 1, bias=False))
        self.softmax = Softmax(1)

    def forward(self, input: Any) -> Tensor:
        """The weighted sum of the branches."""
        x = images("SelectiveKernel", input, self.in_channels)
        found = stack([branch(x) for branch in self.branches], 1)
        shares = self.softmax(self.attention(found.sum(1)))
        return (found * shares.reshape(*shares.shape[:2], 1, 1, 1)).sum(1)

"""Pools as layers; what they do is told in nn.functional under the same words."""

from collections.abc import Sequence
from typing import Any

from ..array import Tensor
from ..errors import ConfigError
from ..windows import Size, per_axis
from . import functional as F
from .functional.pooling import Pooled, Sizes
from .module import Module


class _Pool(Module):
    """A pool over `ndim` spatial axes that calls the function of its name."""

    ndim = 0
    shown: tuple[str, ...] = ()

    def _check(self, kernel_size: Any, stride: Any) -> None:
        """Refuse at once what no input could make right."""
        per_axis(type(self).__name__, "kernel_size", kernel_size, self.ndim)
        if stride is not None:
            per_axis(type(self).__name__, "stride", stride, self.ndim)

    def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        return getattr(F, f"{name}{self.ndim}d")(*arguments, **options)

    def extra_repr(self) -> str:
        """The geometry."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.shown)


# ------------------------------------------------------------------------------------------------- maxima
class _MaxPool(_Pool):
    shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
                 return_indices: bool = False, ceil_mode: bool = False) -> None:
        super().__init__()
        self._check(kernel_size, stride)
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Pooled:
        """The maxima, with return_indices their places too."""
        return self._call("max_pool", input, self.kernel_size, self.stride, self.padding, self.dilation,
                          self.ceil_mode, self.return_indices)


class MaxPool1d(_MaxPool):
    """Maxima of windows of (batch, channels, length): see nn.functional.max_pool1d.

    >>> lnb.nn.MaxPool1d(2)(np.arange(6.0).reshape(1, 6)).tolist()
    [[1.0, 3.0, 5.0]]
    """

    ndim = 1


class MaxPool2d(_MaxPool):
    """Maxima of windows of (batch, channels, height, width): see nn.functional.max_pool1d.

    >>> lnb.nn.MaxPool2d(3, stride=2, padding=1)(np.ones((1, 4, 8, 8))).shape
    (1, 4, 4, 4)
    """

    ndim = 2


class MaxPool3d(_MaxPool):
    """Maxima of windows of (batch, channels, depth, height, width): see nn.functional.max_pool1d."""

    ndim = 3


class _MaxUnpool(_Pool):
    shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        self._check(kernel_size, stride)
        self.kernel_size = per_axis(type(self).__name__, "kernel_size", kernel_size, self.ndim)
        self.stride = self.kernel_size if stride is None else per_axis(
            type(self).__name__, "stride", stride, self.ndim)
        self.padding = per_axis(type(self).__name__, "padding", padding, self.ndim, 0)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The maxima at their indices among zeros."""
        return self._call("max_unpool", input, indices, self.kernel_size, self.stride, self.padding,
                          output_size)


class MaxUnpool1d(_MaxUnpool):
    """Zeros in which maxima of MaxPool1d(return_indices=True) stand at their indices.

    >>> layer = lnb.nn.MaxPool1d(2, return_indices=True)
    >>> lnb.nn.MaxUnpool1d(2)(*layer([[1.0, 3.0, 2.0, 5.0]]))
    tensor([[0., 3., 0., 5.]])
    """

    ndim = 1


class MaxUnpool2d(_MaxUnpool):
    """Zeros in which maxima of MaxPool2d(return_indices=True) stand at their indices."""

    ndim = 2


class MaxUnpool3d(_MaxUnpool):
    """Zeros in which maxima of MaxPool3d(return_indices=True) stand at their indices."""

    ndim = 3


class _FractionalMaxPool(_Pool):
    shown = ("kernel_size", "output_size", "output_ratio")

    def __init__(self, kernel_size: Size, output_size: Size | None = None,
                 output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
                 _random_samples: Any = None) -> None:
        super().__init__()
        self._check(kernel_size, None)
        if (output_size is None) == (output_ratio is None):
            raise ConfigError(f"{type(self).__name__}: output_size={output_size} and output_ratio={output_ratio}. "
                              "Give one of them.")
        self.kernel_size = per_axis(type(self).__name__, "kernel_size", kernel_size, self.ndim)
        self.output_size, self.output_ratio, self.return_indices = output_size, output_ratio, return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Pooled:
        """The maxima, with return_indices their places too."""
        return self._call("fractional_max_pool", input, self.kernel_size, self.output_size, self.output_ratio,
                          self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of windows that start at random steps: see nn.functional.fractional_max_pool2d."""

    ndim = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima of windows that start at random steps: see nn.functional.fractional_max_pool3d."""

    ndim = 3


# ----------------------------------------------------------------------------------------------- averages
class AvgPool1d(_Pool):
    """Averages of windows of (batch, channels, length): see nn.functional.avg_pool1d.

    >>> lnb.nn.AvgPool1d(2)(np.arange(6.0).reshape(1, 6)).tolist()
    [[0.5, 2.5, 4.5]]
    """

    ndim = 1
    shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True) -> None:
        super().__init__()
        self._check(kernel_size, stride)
        self.kernel_size = per_axis("AvgPool1d", "kernel_size", kernel_size, 1)
        self.stride = self.kernel_size if stride is None else per_axis("AvgPool1d", "stride", stride, 1)
        self.padding = per_axis("AvgPool1d", "padding", padding, 1, 0)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """The averages."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPool(_Pool):
    shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        super().__init__()
        self._check(kernel_size, stride)
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The averages."""
        return self._call("avg_pool", input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
                          self.count_include_pad, self.divisor_override)


class AvgPool2d(_AvgPool):
    """Averages of windows of (batch, channels, height, width): see nn.functional.avg_pool2d.

    >>> lnb.nn.AvgPool2d(2)(np.ones((1, 4, 8, 8))).shape
    (1, 4, 4, 4)
    """

    ndim = 2


class AvgPool3d(_AvgPool):
    """Averages of windows of (batch, channels, depth, height, width): see nn.functional.avg_pool2d."""

    ndim = 3


class _LPPool(_Pool):
    shown = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(self, norm_type: float, kernel_size: Size, stride: Size | None = None,
                 ceil_mode: bool = False) -> None:
        super().__init__()
        self._check(kernel_size, stride)
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """The norms."""
        return self._call("lp_pool", input, self.norm_type, self.kernel_size, self.stride,
                          self.ceil_mode)


class LPPool1d(_LPPool):
    """Norms of windows of (batch, channels, length): see nn.functional.lp_pool1d."""

    ndim = 1


class LPPool2d(_LPPool):
    """Norms of windows of (batch, channels, height, width): see nn.functional.lp_pool1d."""

    ndim = 2


class LPPool3d(_LPPool):
    """Norms of windows of (batch, channels, depth, height, width): see nn.functional.lp_pool1d."""

    ndim = 3


# ----------------------------------------------------------------------------------------------- adaptive
class _AdaptiveAvgPool(_Pool):
    shown = ("output_size",)

    def __init__(self, output_size: Sizes) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """The averages."""
        return self._call("adaptive_avg_pool", input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """As many averages as wanted of (batch, channels, length): see nn.functional.adaptive_avg_pool1d."""

    ndim = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """As many averages as wanted of (batch, channels, height, width): see nn.functional.adaptive_avg_pool2d.

    >>> lnb.nn.AdaptiveAvgPool2d((5, None))(np.ones((1, 4, 7, 7))).shape
    (1, 4, 5, 7)
    """

    ndim = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """As many averages as wanted of (batch, channels, depth, height, width)."""

    ndim = 3


class _AdaptiveMaxPool(_Pool):
    shown = ("output_size",)

    def __init__(self, output_size: Sizes, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Pooled:
        """The maxima, with return_indices their places too."""
        return self._call("adaptive_max_pool", input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """As many maxima as wanted of (batch, channels, length): see nn.functional.adaptive_max_pool1d."""

    ndim = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """As many maxima as wanted of (batch, channels, height, width): see nn.functional.adaptive_max_pool2d."""

    ndim = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """As many maxima as wanted of (batch, channels, depth, height, width)."""

    ndim = 3

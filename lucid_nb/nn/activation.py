"""Activations as modules. What each computes is said at the function of its name in nn.functional."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..array import Tensor
from ..errors import ConfigError, ShapeError
from . import functional as F
from .module import Module
from .parameter import Parameter


class Activation(Module):
    """A function of nn.functional whose options are the module's attributes."""

    function: ClassVar[Callable]
    options: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **options: Any) -> None:
        super().__init__()
        for name, value in options.items():
            setattr(self, name, value)

    def forward(self, input: Tensor) -> Tensor:
        """The function of the input."""
        return self.function(input, **{name: getattr(self, name) for name in self.options})

    def extra_repr(self) -> str:
        """The options; `inplace` where it is set."""
        shown = [(name, getattr(self, name)) for name in self.options]
        return ", ".join(f"{name}={value!r}" for name, value in shown if name != "inplace" or value)


class InPlace(Activation):
    """An activation without other options that may overwrite its input."""

    options = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class ReLU(InPlace):
    """max(x, 0)."""

    function = staticmethod(F.relu)


class ReLU6(InPlace):
    """min(max(x, 0), 6)."""

    function = staticmethod(F.relu6)


class SELU(InPlace):
    """A scaled elu that keeps mean 0 and variance 1."""

    function = staticmethod(F.selu)


class SiLU(InPlace):
    """x * sigmoid(x)."""

    function = staticmethod(F.silu)


Swish = SiLU


class Mish(InPlace):
    """x * tanh(softplus(x))."""

    function = staticmethod(F.mish)


class Hardsigmoid(InPlace):
    """relu6(x + 3) / 6."""

    function = staticmethod(F.hardsigmoid)


class Hardswish(InPlace):
    """x * relu6(x + 3) / 6."""

    function = staticmethod(F.hardswish)


HardSigmoid, HardSwish = Hardsigmoid, Hardswish          # as lucid spells them


class Sigmoid(Activation):
    """1 / (1 + exp(-x))."""

    function = staticmethod(F.sigmoid)


class LogSigmoid(Activation):
    """The logarithm of sigmoid(x)."""

    function = staticmethod(F.logsigmoid)


class Tanh(Activation):
    """The hyperbolic tangent."""

    function = staticmethod(F.tanh)


class Tanhshrink(Activation):
    """x - tanh(x)."""

    function = staticmethod(F.tanhshrink)


class Softsign(Activation):
    """x / (1 + |x|)."""

    function = staticmethod(F.softsign)


class LeakyReLU(Activation):
    """x where positive, otherwise negative_slope * x."""

    function, options = staticmethod(F.leaky_relu), ("negative_slope", "inplace")

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(negative_slope=negative_slope, inplace=inplace)


class ELU(Activation):
    """x where positive, otherwise alpha * (exp(x) - 1)."""

    function, options = staticmethod(F.elu), ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class CELU(Activation):
    """x where positive, otherwise alpha * (exp(x / alpha) - 1); ConfigError if alpha is 0."""

    function, options = staticmethod(F.celu), ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        if alpha == 0:
            raise ConfigError("CELU: alpha is 0. Use another value.")
        super().__init__(alpha=alpha, inplace=inplace)


class Hardtanh(Activation):
    """x between min_val and max_val; ConfigError if these are not in order."""

    function, options = staticmethod(F.hardtanh), ("min_val", "max_val", "inplace")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        if not min_val < max_val:
            raise ConfigError(f"Hardtanh: min_val {min_val} is not below max_val {max_val}. Give a smaller one.")
        super().__init__(min_val=min_val, max_val=max_val, inplace=inplace)


class Hardshrink(Activation):
    """x, but 0 where |x| is at most lambd."""

    function, options = staticmethod(F.hardshrink), ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)


class Softshrink(Activation):
    """x moved towards 0 by lambd, at most to 0; ConfigError for a negative lambd."""

    function, options = staticmethod(F.softshrink), ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        if not lambd >= 0:
            raise ConfigError(f"Softshrink: lambd is {lambd}. Use a number that is not negative.")
        super().__init__(lambd=lambd)


class Threshold(Activation):
    """x where above the threshold, otherwise the value."""

    function, options = staticmethod(F.threshold), ("threshold", "value", "inplace")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value, inplace=inplace)


class RReLU(Activation):
    """x where positive, otherwise x times a slope: drawn from [lower, upper] in training, else the mean of both."""

    function, options = staticmethod(F.rrelu), ("lower", "upper", "inplace")

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        if lower > upper:
            raise ConfigError(f"RReLU: lower {lower} is above upper {upper}. Swap them.")
        super().__init__(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        """The randomized leaky rectifier."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class PReLU(Activation):
    """x where positive, otherwise weight * x, with one learned weight, or one for each of `num_parameters` channels."""

    options = ("num_parameters",)

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: str | None = None,
                 dtype: Any = None) -> None:
        super().__init__(num_parameters=num_parameters)
        self.weight = Parameter([init] * num_parameters, dtype=dtype, device=device)

    def forward(self, input: Tensor) -> Tensor:
        """The rectifier with learned slopes."""
        return F.prelu(input, self.weight)


class GELU(Activation):
    """x times the normal distribution function, or with approximate="tanh" its tanh form."""

    function, options = staticmethod(F.gelu), ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        if approximate not in F.GELU_FORMS:
            raise ConfigError(f"GELU: approximate is {approximate!r}. Use 'none' or 'tanh'.")
        super().__init__(approximate=approximate)


class Softplus(Activation):
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x is above threshold."""

    function, options = staticmethod(F.softplus), ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        if beta == 0:
            raise ConfigError("Softplus: beta is 0. Use another value.")
        super().__init__(beta=beta, threshold=threshold)


class AlongAxis(Activation):
    """A function along one axis, which goes by two names."""

    options = ("dim",)

    def __init__(self, dim: int | None = None, *, axis: int | None = None) -> None:
        super().__init__(dim=F.one_axis(type(self).__name__, dim, axis))


class Softmax(AlongAxis):
    """exp(x) / sum(exp(x)) along an axis."""

    function = staticmethod(F.softmax)


class Softmax2d(Module):
    """Softmax over the channels of images, (batch, channels, height, width) or without batch.

    >>> lnb.nn.Softmax2d()(np.zeros((2, 1, 1))).ravel()
    tensor([0.5, 0.5])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The shares of the channels at each pixel."""
        if np.ndim(input) not in (3, 4):
            raise ShapeError(f"Softmax2d: an input of shape {np.shape(input)}. Give (batch, channels, height, width), "
                             "or leave out batch.")
        return F.softmax(input, -3)


class LogSoftmax(AlongAxis):
    """The logarithm of softmax along an axis."""

    function = staticmethod(F.log_softmax)


class Softmin(AlongAxis):
    """softmax(-x) along an axis."""

    function = staticmethod(F.softmin)


class GLU(AlongAxis):
    """The first half of an axis times the sigmoid of the second."""

    function = staticmethod(F.glu)

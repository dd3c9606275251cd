"""Activations as modules. What each computes is said at the function of its name in nn.functional."""

from ..array import Tensor
from ..errors import ConfigError
from . import functional as F
from .module import Module


class ReLU(Module):
    """max(x, 0)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The positive part."""
        return F.relu(input, self.inplace)

    def extra_repr(self) -> str:
        """Whether it overwrites its input."""
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        """The logistic function."""
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """The hyperbolic tangent."""
        return F.tanh(input)


class GELU(Module):
    """x times the normal distribution function, or with approximate="tanh" its tanh form."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in F.GELU_FORMS:
            raise ConfigError(f"GELU: approximate is {approximate!r}. Use 'none' or 'tanh'.")
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """The Gaussian error linear unit."""
        return F.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        """The form."""
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x is above threshold."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        if beta == 0:
            raise ConfigError("Softplus: beta is 0. Use another value.")
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        """The smooth positive part."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Sharpness, and where it becomes linear."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softmax(Module):
    """exp(x) / sum(exp(x)) along an axis."""

    def __init__(self, dim: int | None = None, *, axis: int | None = None) -> None:
        super().__init__()
        self.dim = F.one_axis("Softmax", dim, axis)

    def forward(self, input: Tensor) -> Tensor:
        """Positive numbers that sum to 1 along the axis."""
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        """The axis."""
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """The logarithm of softmax along an axis."""

    def forward(self, input: Tensor) -> Tensor:
        """Logarithms of positive numbers that sum to 1 along the axis."""
        return F.log_softmax(input, self.dim)

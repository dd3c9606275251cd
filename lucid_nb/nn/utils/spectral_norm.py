"""Weights divided by their largest singular value, which power iterations follow while training goes on.

Source: T. Miyato, T. Kataoka, M. Koyama, Y. Yoshida, Spectral normalization, arXiv:1802.05957.
"""

from typing import Any, TypeVar

from ... import random
from ...array import Tensor
from ...creation import asarray
from ...errors import ConfigError
from ...ops.axes import moveaxis
from ...ops.linalg import matmul
from ...shapes import as_integer, normalize_axis
from ...tape import grad_mode
from .. import functional as F
from ..conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..module import Module
from .weight_norm import put_back, taken

Layer = TypeVar("Layer", bound=Module)
TRANSPOSED = ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
FIRST_ITERATIONS = 15


def output_axis(module: Module, dim: int | None) -> int:
    """The axis of what comes out: the second of the weights of transposed convolutions, otherwise the first."""
    return dim if dim is not None else 1 if isinstance(module, TRANSPOSED) else 0


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight with one axis as rows and the others as one."""
    axis = normalize_axis("spectral_norm", dim, weight.ndim)
    return moveaxis(weight, axis, 0).reshape(weight.shape[axis], -1)


def direction(like: Tensor, size: int, eps: float) -> Tensor:
    """A random vector of length 1."""
    drawn = random.host().normal(size=size)
    return F.normalize(asarray(drawn.astype(like.dtype), device=like.device), dim=0, eps=eps)


def iterated(matrix: Tensor, u: Tensor, v: Tensor, count: int, eps: float, is_left_first: bool) -> tuple[Any, Any]:
    """Both singular vectors of the largest singular value after so many more power iterations."""
    with grad_mode(False):
        matrix = matrix.detach()
        for _ in range(count):
            if is_left_first:
                u = F.normalize(matmul(matrix, v), dim=0, eps=eps)
            v = F.normalize(matmul(matrix.mT, u), dim=0, eps=eps)
            if not is_left_first:
                u = F.normalize(matmul(matrix, v), dim=0, eps=eps)
    return u, v


def divided(weight: Tensor, matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """The weight over the singular value that these vectors say."""
    return weight / (u * matmul(matrix, v)).sum()


def checked(op: str, count: int) -> int:
    """A number of iterations."""
    found = as_integer(op, "n_power_iterations", count)
    if found < 1:
        raise ConfigError(f"{op}: n_power_iterations is {found}. Use 1 or more.")
    return found


class SpectralNorm(Module):
    """A weight over its largest singular value, as a parametrization; a vector over its length."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        self.n_power_iterations, self.dim, self.eps = checked("spectral_norm", n_power_iterations), dim, eps
        if weight.ndim > 1:
            matrix = as_matrix(weight.detach(), dim)
            u, v = (direction(weight, size, eps) for size in matrix.shape)
            u, v = iterated(matrix, u, v, FIRST_ITERATIONS, eps, True)
            self.register_buffer("_u", u.copy())
            self.register_buffer("_v", v.copy())

    def forward(self, weight: Tensor) -> Tensor:
        """The weight; in training after an iteration."""
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._u, self._v = iterated(matrix, self._u, self._v, self.n_power_iterations, self.eps, True)
        return divided(weight, matrix, self._u, self._v)

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself: weights differ in length only."""
        return value


class _Spectral:
    """How a module computes the attribute `name` of `name_orig`, `name_u` and `name_v`."""

    def __init__(self, name: str, count: int, dim: int, eps: float) -> None:
        self.name, self.count, self.dim, self.eps = name, count, dim, eps

    def _parts(self, module: Module) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        return weight, as_matrix(weight, self.dim), u, v

    def __call__(self, module: Module, args: Any) -> None:
        """The module is about to be called: in training more iterations are made."""
        if module.training:
            _, matrix, u, v = self._parts(module)
            u, v = iterated(matrix, u, v, self.count, self.eps, False)
            setattr(module, f"{self.name}_u", u)
            setattr(module, f"{self.name}_v", v)

    def compute(self, module: Module) -> Tensor:
        """The weight."""
        return divided(*self._parts(module))

    def assign(self, module: Module, value: Any) -> None:
        """The weight is assigned."""
        original = getattr(module, f"{self.name}_orig")
        with grad_mode(False):
            original[...] = value


def spectral_norm(module: Layer, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Layer:
    """Divide a weight by its largest singular value: `name_orig` is trained, `name_u` and `name_v` are the singular
    vectors, which each call in training brings nearer. `parametrizations.spectral_norm` does it under newer keys.

    >>> layer = lnb.nn.utils.spectral_norm(lnb.nn.Linear(4, 3))
    >>> sorted(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    count, weight = checked("spectral_norm", n_power_iterations), taken("spectral_norm", module, name)
    made = _Spectral(name, count, output_axis(module, dim), eps)
    module.register_parameter(f"{name}_orig", weight)
    for part, size in zip("uv", as_matrix(weight.detach(), made.dim).shape):
        module.register_buffer(f"{name}_{part}", direction(weight, size, eps))
    module.register_forward_pre_hook(made)
    module._derived[name] = made
    return module


def remove_spectral_norm(module: Layer, name: str = "weight") -> Layer:
    """Undo spectral_norm: the weight, divided, is one parameter again."""
    made = module._derived.get(name)
    put_back("remove_spectral_norm", module, name, _Spectral, ("orig", "u", "v"))
    for key in [key for key, hook in module._forward_pre_hooks.items() if hook.call is made]:
        del module._forward_pre_hooks[key]
    return module

"""Weights as a direction and a length for each channel.

Source: T. Salimans, D. Kingma, Weight normalization, arXiv:1602.07868.
"""

from typing import Any, TypeVar

from ...array import Tensor
from ...errors import StateError
from ...ops.vector_norm import vector_norm
from ...shapes import normalize_axis
from ...tape import grad_mode
from ..module import Module
from ..parameter import Parameter

Layer = TypeVar("Layer", bound=Module)


def norm_except(v: Tensor, dim: int | None) -> Tensor:
    """The norm along all axes but one, whose size it keeps; of all elements where dim is None, or -1 as in PyTorch."""
    if dim is None or dim == -1:
        return vector_norm(v)
    kept = normalize_axis("weight_norm", dim, v.ndim)
    return vector_norm(v, axis=tuple([axis for axis in range(v.ndim) if axis != kept]), keepdims=True)


def normed(g: Tensor, v: Tensor, dim: int | None) -> Tensor:
    """g v / |v|."""
    return v * (g / norm_except(v, dim))


class WeightNorm(Module):
    """A weight of its length and its direction, as a parametrization."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """The weight."""
        return normed(weight_g, weight_v, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Length and direction of a weight."""
        return norm_except(weight, self.dim), weight


class _Normed:
    """How a module computes the attribute `name` of `name_g` and `name_v`."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, dim

    def compute(self, module: Module) -> Tensor:
        """The weight."""
        return normed(getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v"), self.dim)

    def assign(self, module: Any, value: Any) -> None:
        """The weight is assigned."""
        with grad_mode(False):
            setattr(module, f"{self.name}_g", Parameter(norm_except(value, self.dim)))
            setattr(module, f"{self.name}_v", Parameter(value))


def weight_norm(module: Layer, name: str = "weight", dim: int | None = 0) -> Layer:
    """Train a weight as its length `name_g`, one for each place along the axis `dim` (None: one), and its direction
    `name_v`. `parametrizations.weight_norm` does the same under the newer keys.

    >>> layer = lnb.nn.utils.weight_norm(lnb.nn.Linear(4, 3))
    >>> [(name, param.shape) for name, param in layer.named_parameters()]
    [('bias', (3,)), ('weight_g', (3, 1)), ('weight_v', (3, 4))]
    """
    weight = taken("weight_norm", module, name)
    made = _Normed(name, dim)
    made.assign(module, weight.detach())
    module._derived[name] = made
    return module


def taken(op: str, module: Module, name: str) -> Parameter:
    """A parameter that is taken out of its module."""
    weight = module._parameters.get(name)
    if weight is None:
        raise StateError(f"{op}: {type(module).__name__} has no parameter {name!r}. Use one of "
                         f"{list(module._parameters)}.")
    delattr(module, name)
    return weight


def put_back(op: str, module: Layer, name: str, kind: type, parts: tuple[str, ...]) -> Layer:
    """Let what is computed be a parameter again, of its present value."""
    made = module._derived.get(name)
    if not isinstance(made, kind):
        raise StateError(f"{op}: {type(module).__name__}.{name} is no such weight. Use one of "
                         f"{[key for key, own in module._derived.items() if isinstance(own, kind)]}.")
    value = made.compute(module).detach()  # type: ignore[attr-defined]
    del module._derived[name]
    for part in parts:
        delattr(module, f"{name}_{part}")
    setattr(module, name, Parameter(value))
    return module


def remove_weight_norm(module: Layer, name: str = "weight") -> Layer:
    """Undo weight_norm: the weight is one parameter again."""
    return put_back("remove_weight_norm", module, name, _Normed, ("g", "v"))

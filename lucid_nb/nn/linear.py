"""Linear layers, and what only reshapes."""

import math
from collections.abc import Sequence
from typing import Any

from ..array import Tensor
from ..creation import asarray, empty
from ..errors import ShapeError
from ..shapes import as_integer, as_shape, normalize_axis, resolve_shape
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class Identity(Module):
    """Its input; arguments are accepted and ignored, so that it can stand in for any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class Flatten(Module):
    """Axes from start_dim to end_dim made one: (batch, channels, height, width) to (batch, features).

    lucid's names for them are accepted: `start_axis`, `end_axis`.
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1, *, start_axis: int | None = None,
                 end_axis: int | None = None) -> None:
        super().__init__()
        self.start_dim = start_dim if start_axis is None else start_axis
        self.end_dim = end_dim if end_axis is None else end_axis

    def forward(self, input: Tensor) -> Tensor:
        """The flattened input, a view where possible."""
        return F.flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One axis made several, of the sizes `unflattened_size`, one of which may be -1: the rest.

    >>> lnb.nn.Unflatten(1, (2, -1))(np.ones((3, 8))).shape
    (3, 2, 4)
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim, self.unflattened_size = as_integer("Unflatten", "dim", dim), as_shape("Unflatten", unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        """The input with more axes, a view where possible."""
        x = asarray(input)
        axis = normalize_axis("Unflatten", self.dim, x.ndim)
        sizes = resolve_shape("Unflatten", x.shape[axis:axis + 1], self.unflattened_size)
        return x.reshape((*x.shape[:axis], *sizes, *x.shape[axis + 1:]))

    def extra_repr(self) -> str:
        """The axis, and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Linear(Module):
    """x @ weight.T + bias: (..., in_features) to (..., out_features).

    `weight` is (out_features, in_features), `bias` (out_features,). Both start uniform within 1 / sqrt(in_features).

    >>> layer = lnb.nn.Linear(4, 3)
    >>> layer
    Linear(in_features=4, out_features=3, bias=True)
    >>> layer(np.ones((2, 4), np.float32)).shape
    (2, 3)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: str | None = None,
                 dtype: Any = "float32") -> None:
        super().__init__()
        in_features, out_features = (as_integer("Linear", name, size) for name, size in
                                     (("in_features", in_features), ("out_features", out_features)))
        if in_features < 0 or out_features < 0:
            raise ShapeError(f"Linear: sizes {in_features} and {out_features}. Use sizes of 0 or more.")
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty((out_features, in_features), dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty((out_features,), dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """The layer applied to the last axis."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes, and whether there is a bias."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1 weight x2 + bias: (..., in1_features) and (..., in2_features) to (..., out_features).

    `weight` is (out_features, in1_features, in2_features), `bias` (out_features,). Both start uniform within
    1 / sqrt(in1_features).

    >>> lnb.nn.Bilinear(4, 3, 2)(np.ones((5, 4), np.float32), np.ones((5, 3), np.float32)).shape
    (5, 2)
    """

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
                 device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = (
            as_integer("Bilinear", name, size) for name, size in
            (("in1_features", in1_features), ("in2_features", in2_features), ("out_features", out_features)))
        sizes = (self.out_features, self.in1_features, self.in2_features)
        if self.in1_features < 1 or min(sizes) < 0:
            raise ShapeError(f"Bilinear: sizes {sizes[1]}, {sizes[2]} and {sizes[0]}. Use positive sizes.")
        self.weight = Parameter(empty(sizes, dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty(sizes[:1], dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        bound = 1 / math.sqrt(self.in1_features)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The form applied to the last axes."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes, and whether there is a bias."""
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
                f"out_features={self.out_features}, bias={self.bias is not None}")

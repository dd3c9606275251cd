"""Layers of the package einops: patterns as modules."""

from collections.abc import Mapping
from typing import Any

from ..array import Tensor
from ..creation import asarray, empty
from ..einops import library
from ..ops.einsum import einsum
from . import init
from .module import Module
from .parameter import Parameter

_layers = library().layers


class Rearrange(_layers.RearrangeMixin, Module):  # type: ignore[name-defined]
    """`einops.rearrange` with a pattern, checked when the layer is made.

    >>> import lucid_nb as lnb
    >>> lnb.nn.Rearrange("b c h w -> b (c h w)")(lnb.zeros((2, 3, 4, 5))).shape
    (2, 60)
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input with its axes rearranged."""
        return self._apply_recipe(asarray(input))


class Reduce(_layers.ReduceMixin, Module):  # type: ignore[name-defined]
    """`einops.reduce` with a pattern and a reduction, checked when the layer is made.

    >>> import lucid_nb as lnb
    >>> lnb.nn.Reduce("b c (h 2) (w 2) -> b c h w", "max")(lnb.zeros((1, 3, 4, 6))).shape
    (1, 3, 2, 3)
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input with axes reduced."""
        return self._apply_recipe(asarray(input))


class EinMix(_layers._einmix._EinmixMixin, Module):  # type: ignore[name-defined]
    """A linear map of named axes: products of input and weight, summed over the axes that are not on the right.

    `bias_shape`: the axes of the bias, None for no bias. All sizes of weight and bias must be given. Weights are drawn
    uniform within (3 / n)**0.5, biases within (1 / n)**0.5, n being how many elements are summed.

    >>> import lucid_nb as lnb
    >>> mix = lnb.nn.EinMix("b (head c) t -> b t head d", "head c d", "head d", head=2, c=4, d=3)
    >>> mix(lnb.zeros((5, 8, 6), dtype="float32")).shape
    (5, 6, 2, 3)
    """

    def _create_parameters(self, weight_shape: list[int], weight_bound: float, bias_shape: list[int] | None,
                           bias_bound: float) -> None:
        self.weight = Parameter(empty(tuple(weight_shape), dtype="float32"))
        init.uniform_(self.weight, -weight_bound, weight_bound)
        self.bias = None if bias_shape is None else Parameter(empty(tuple(bias_shape), dtype="float32"))
        if self.bias is not None:
            init.uniform_(self.bias, -bias_bound, bias_bound)

    def _create_rearrange_layers(self, before: str | None, before_sizes: Mapping[str, int] | None, after: str | None,
                                 after_sizes: Mapping[str, int] | None) -> None:
        self.pre_rearrange = None if before is None else Rearrange(before, **before_sizes or {})  # type: ignore[call-arg]
        self.post_rearrange = None if after is None else Rearrange(after, **after_sizes or {})  # type: ignore[call-arg]

    def forward(self, input: Tensor) -> Any:
        """The map applied to the input."""
        x = input if self.pre_rearrange is None else self.pre_rearrange(input)
        found = einsum(self.einsum_pattern, x, self.weight)
        found = found if self.bias is None else found + self.bias
        return found if self.post_rearrange is None else self.post_rearrange(found)

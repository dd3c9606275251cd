"""Axes by name: rearrange, reduce, repeat, pack, unpack and einsum, by way of the package einops.

The patterns are those of the package (A. Rogozhnikov, Einops: Clear and Reliable Tensor Manipulations with
Einstein-like Notation, ICLR 2022), which does the work with our functions: every device, and gradients to any order.
It is an optional dependency, loaded at the first call. From then on its own functions take tensors, too. What a pattern
says wrong raises einops.EinopsError, in the package's words.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from .array import Tensor
from .creation import arange, asarray
from .dtypes import is_inexact
from .errors import BackendError, DTypeError, ShapeError
from .register import functions

__all__ = ["einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack"]


class _Words:
    """What the package calls arrays by: a backend of its own, but for its base class."""

    framework_name = "lucid_nb"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Is it one of ours?"""
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Any) -> Tensor:
        """A tensor of an array."""
        return asarray(x)

    def to_numpy(self, x: Tensor) -> Any:
        """An array of a tensor."""
        return x.detach().numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        """Integers."""
        return arange(start, stop)

    def stack_on_zeroth_dimension(self, tensors: Sequence[Tensor]) -> Tensor:
        """Side by side on a new first axis."""
        return functions["stack"](tensors)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        """An axis more."""
        return functions["expand_dims"](x, new_position)

    def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
        """Repeated along axes."""
        return functions["tile"](x, tuple(repeats))

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """One behind the other."""
        return functions["concat"](tensors, axis=axis)

    def is_float_type(self, x: Tensor) -> bool:
        """Has it a mean?"""
        return is_inexact(x.dtype)

    def einsum(self, pattern: str, *tensors: Tensor) -> Tensor:
        """Sums of products."""
        return functions["einsum"](pattern, *tensors)


@cache
def library() -> Any:
    """The package, which knows tensors from then on; BackendError where it is not installed."""
    try:
        import einops
        import einops.layers._einmix
        from einops._backends import AbstractBackend
    except ImportError as error:
        raise BackendError(f"einops: the package einops is needed, and did not load ({error}). Install "
                           "it: pip install einops.") from None
    library.backend = type("TensorBackend", (_Words, AbstractBackend), {})  # type: ignore[attr-defined]
    return einops


def _operand(op: str, x: Any) -> Any:
    """A tensor, or a list of them where a list is given: the package puts those side by side on a new first axis."""
    if isinstance(x, (list, tuple)):
        return [asarray(part) for part in x]
    if isinstance(x, str):
        raise DTypeError(f"{op}: got the pattern {x!r} first. Give the tensor, then the pattern.")
    return asarray(x)


def _pattern(op: str, pattern: Any, arrows: int = 1) -> str:
    """A pattern, before the package takes it apart."""
    if not isinstance(pattern, str):
        raise DTypeError(f"{op}: the pattern is a {type(pattern).__name__}. Give a string, as 'b c h w -> b (h w) c'.")
    if pattern.count("->") != arrows:
        raise ShapeError(f"{op}: the pattern {pattern!r} has {pattern.count('->')} arrows instead of {arrows}. Write "
                         "the axes that there are" + ", '->', and those that shall be." * arrows + "." * (not arrows))
    return pattern


# ----------------------------------------------------------------------------------------------- functions
def rearrange(tensor: Any, pattern: str, **sizes: int) -> Tensor:
    """Axes reordered, split and joined: what stands in parentheses is one axis, `...` any number of them.

    `sizes`: those of axes that the pattern splits; one in each parenthesis may be left out.

    >>> import lucid_nb as lnb
    >>> images = lnb.zeros((10, 3, 32, 32))
    >>> lnb.einops.rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=8, q=8).shape
    (10, 16, 192)
    """
    return library().rearrange(_operand("rearrange", tensor), _pattern("rearrange", pattern), **sizes)


def reduce(tensor: Any, pattern: str, reduction: Any = "sum", **sizes: int) -> Tensor:
    """Axes that are not on the right side are reduced; the others as in `rearrange`.

    `reduction`: "sum", "mean" (of floats), "max", "min", "prod", "any", "all", or a function of a tensor and a tuple of
    axes.

    >>> import lucid_nb as lnb
    >>> lnb.einops.reduce(lnb.arange(16.0).reshape(4, 4), "(h p) (w q) -> h w", "max", p=2, q=2)
    tensor([[ 5.,  7.],
            [13., 15.]])
    """
    found = _operand("reduce", tensor)
    if reduction == "mean" and isinstance(found, Tensor) and not is_inexact(found.dtype):
        raise DTypeError(f"reduce: the mean of {found.dtype} is no {found.dtype}. Use .astype('float64').")
    return library().reduce(found, _pattern("reduce", pattern), reduction, **sizes)


def repeat(tensor: Any, pattern: str, **sizes: int) -> Tensor:
    """Axes that are only on the right side are new: all is repeated along them. Their `sizes` must be given.

    >>> import lucid_nb as lnb
    >>> lnb.einops.repeat(lnb.tensor([1, 2]), "n -> (n twice) 2", twice=2).tolist()
    [[1, 1], [1, 1], [2, 2], [2, 2]]
    """
    return library().repeat(_operand("repeat", tensor), _pattern("repeat", pattern), **sizes)


def pack(tensors: Sequence[Any], pattern: str) -> tuple[Tensor, list[tuple[int, ...]]]:
    """Tensors joined along `*`, which stands for any axes that are made one: the result, and these axes of each.

    >>> import lucid_nb as lnb
    >>> token, patches = lnb.zeros((2, 8)), lnb.ones((2, 4, 4, 8))
    >>> packed, shapes = lnb.einops.pack([token, patches], "batch * channels")
    >>> packed.shape, shapes
    ((2, 17, 8), [(), (4, 4)])
    """
    found = [asarray(x) for x in tensors]
    if not found:
        raise ShapeError("pack: got no tensors. Give at least one.")
    packed, shapes = library().pack(found, _pattern("pack", pattern, 0))
    return packed, [tuple(shape) for shape in shapes]


def unpack(tensor: Any, shapes: Sequence[Sequence[int]], pattern: str) -> list[Tensor]:
    """What `pack` joined, apart again. One size may be -1: what is left.

    >>> import lucid_nb as lnb
    >>> [x.shape for x in lnb.einops.unpack(lnb.zeros((2, 17, 8)), [(), (4, 4)], "batch * channels")]
    [(2, 8), (2, 4, 4, 8)]
    """
    return library().unpack(asarray(tensor), shapes, _pattern("unpack", pattern, 0))


def einsum(*operands: Any) -> Tensor:
    """Sums of products with names of axes instead of letters: tensors, then the pattern (or the pattern first).

    >>> import lucid_nb as lnb
    >>> queries, keys = lnb.ones((2, 5, 4, 8)), lnb.ones((2, 7, 4, 8))
    >>> lnb.einops.einsum(queries, keys, "b row head d, b col head d -> b head row col").shape
    (2, 4, 5, 7)
    """
    if operands and isinstance(operands[0], str):
        operands = (*operands[1:], operands[0])
    if len(operands) < 2:
        raise ShapeError(f"einsum: got {len(operands)} operands. Give tensors, then the pattern.")
    return library().einsum(*[asarray(x) for x in operands[:-1]], _pattern("einsum", operands[-1]))


def parse_shape(tensor: Any, pattern: str) -> dict[str, int]:
    """{name: size} of the axes; `_` names none.

    >>> import lucid_nb as lnb
    >>> lnb.einops.parse_shape(lnb.zeros((2, 3, 5)), "batch _ width")
    {'batch': 2, 'width': 5}
    """
    return library().parse_shape(asarray(tensor), _pattern("parse_shape", pattern, 0))

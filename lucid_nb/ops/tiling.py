"""Tiling: elements and arrays repeated."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .. import dtypes, shapes
from ..apply import apply, as_array
from ..array import Tensor
from ..errors import DTypeError, ShapeError
from ..op import ALL, Info, Primitive
from ..register import public, short
from ..storage import Broadcast, Slice
from .movement import _copied_reshape, as_tensor, duplicate, joined, reshape


def _pull_repeat(ops: Any, info: Info, g: Any, counts: int | np.ndarray, axis: int) -> tuple:
    """What arrives at the copies of each element, summed."""
    outer, size, inner = info.shape(0)[:axis], info.shape(0)[axis], info.shape(0)[axis + 1:]
    if isinstance(counts, int):
        return (ops.sum(ops.reshape(g, shape=(*outer, size, counts, *inner)), axes=(axis + 1,), keepdims=False),)
    order = (axis, *range(axis), *range(axis + 1, len(info.shape(0))))
    rows = ops.permute(g, axes=order)
    found = ops.add_at(ops.zeros((size, *outer, *inner), g), rows, places=np.repeat(np.arange(size), counts))
    return (ops.permute(found, axes=shapes.inverse_permutation(order)),)


_repeat = Primitive("repeat_by", lambda table, x, counts, axis: table.repeat(x, counts, axis), _pull_repeat, linear=ALL)


@public()
def tile(A: Any, reps: Any) -> Tensor:
    """The array laid side by side `reps` times on each axis; one number counts for the last axis.

    >>> import lucid_nb as lnb
    >>> lnb.tile([1, 2], (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    if type(reps) is int and 0 < reps < 64 and (raw := short.middling(A, reps)) is not None and raw.ndim == 1:
        return short.made(raw[None].repeat(reps, 0).reshape(-1))
    A = as_tensor("tile", A)
    counts = shapes.as_shape("tile", reps.tolist() if isinstance(reps, (Tensor, np.ndarray)) else reps)
    if any(count < 0 for count in counts):
        raise ShapeError(f"tile: reps {counts} has a negative number. Use 0 or more.")
    ndim = max(A.ndim, len(counts))
    counts, sizes = (1,) * (ndim - len(counts)) + counts, (1,) * (ndim - A.ndim) + A.shape
    wanted = shapes.check_sizes("tile", tuple(size * count for size, count in zip(sizes, counts)))
    if all(count == 1 for count in counts):
        return reshape(duplicate(A, "C"), sizes)
    # Axes that are not repeated join their neighbours, so that many can be tiled, and runs are long.
    axes: list[Any] = [None] * (ndim - A.ndim)
    spread: list[int] = []
    index: list[Any] = []
    for number, (size, count) in enumerate(zip(sizes, counts)):
        index += [None] if count != 1 and number >= len(axes) else []
        index.append(None if number < len(axes) else slice(None))
        spread += [count, size] if count != 1 and number >= len(axes) else [count * size]
    return apply(_copied_reshape, (A.moved(Slice((*index, ...))).moved(Broadcast(tuple(spread))),), {"shape": wanted})


@public()
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element along an axis (of the flat array by default) so many times, one number for all or one for each.

    >>> import lucid_nb as lnb
    >>> lnb.repeat([7, 8], [1, 2])
    tensor([7, 8, 8])
    """
    if type(repeats) is int and 0 <= repeats < 64 and axis is None and (raw := short.middling(a, repeats)) is not None:
        return short.made(raw.repeat(repeats))
    a = as_tensor("repeat", a)
    a = reshape(a, 1) if a.ndim == 0 else a                   # NumPy takes a number for an axis of one
    a, axis = (reshape(a, -1), 0) if axis is None else (a, shapes.normalize_axis("repeat", axis, a.ndim))
    counts = _counts(repeats, a.shape[axis])
    total = a.shape[axis] * counts if isinstance(counts, int) else int(counts.sum())
    shapes.check_sizes("repeat", (*a.shape[:axis], total, *a.shape[axis + 1:]))
    return apply(_repeat, (a,), {"counts": counts, "axis": axis})


def _counts(repeats: Any, size: int) -> int | np.ndarray:
    """How often each element, or all of them."""
    found = repeats.to_host() if isinstance(repeats, Tensor) else as_array("repeat", repeats)
    if found.dtype.kind not in "iub" and found.size:
        raise DTypeError(f"repeat: {found.dtype} is no number of times. Use integers.")
    if found.ndim > 1 or (found.ndim and found.size not in (1, size)):
        raise ShapeError(f"repeat: {found.shape} repeats for {size} elements. Give one number, or one for each.")
    if size and found.size and found.min() < 0:
        raise ShapeError(f"repeat: {found.min()} times. Use 0 or more.")
    return max(int(found.reshape(())), 0) if found.size == 1 else found.astype(dtypes.INT64)


@public(method=False)
def resize(a: Any, new_shape: int | Sequence[int]) -> Tensor:
    """The elements in another shape, from the beginning again where it has more, cut off where it has less.

    >>> import lucid_nb as lnb
    >>> lnb.resize([1, 2, 3], (2, 2)).tolist()
    [[1, 2], [3, 1]]
    """
    a = as_tensor("resize", a)
    wanted = shapes.check_sizes("resize", shapes.as_shape("resize", new_shape))
    count = prod(wanted)
    if a.size == 0:
        return Tensor(np.zeros(wanted, a.dtype)).to(a.device)
    flat = reshape(a, -1)
    rounds, rest = divmod(count, a.size)
    start = flat.moved(Slice((slice(0, rest),)))
    if rounds == 0:
        return reshape(duplicate(start, "C"), wanted)
    whole = tile(flat, rounds)
    return reshape(joined("resize", [whole, start], 0, None, None, "same_kind") if rest else whole, wanted)

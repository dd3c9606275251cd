"""Windows as columns, and columns added up where windows read them: each is the other's transpose."""

from itertools import product as cartesian
from math import prod
from typing import Any

from .. import flops, shapes
from ..apply import apply
from ..array import Tensor
from ..backend import Table
from ..errors import ShapeError
from ..op import ALL, Primitive, registry
from ..register import public
from ..shapes import Shape, Window
from ..windows import Padding, Size, check_extent, padding_pairs, per_axis, window_of
from .movement import as_tensor, reshape

LEADING = (slice(None), slice(None))


def _padded_sizes(sizes: Shape, window: Window) -> Shape:
    return tuple([low + size + high for size, low, high in zip(sizes, window.low, window.high)])


def _taps(kernel: Shape, results: Shape, window: Window) -> list[tuple[slice, ...]]:
    """What each tap reads of the padded input."""
    return [tuple([slice(at * spread, at * spread + (count - 1) * stride + 1, stride)
                   for at, spread, count, stride in zip(tap, window.dilation, results, window.stride)])
            for tap in cartesian(*map(range, kernel))]


def _unfold(table: Table, x: Any, window: Window, kernel: Shape) -> Any:
    """(N, C, *sizes) -> (N, C * taps, windows)."""
    batch, channels, *sizes = x.shape
    results = window.output_sizes(tuple(sizes), kernel)
    count, windows = prod(kernel), prod(results)
    if batch * channels == 0:
        return table.empty((batch, channels * count, windows), table.dtype_of(x))
    padded = table.pad(x, ((0, 0), (0, 0), *zip(window.low, window.high)), 0)
    parts = [table.reshape(table.slice(padded, (*LEADING, *place)), (batch, channels, 1, windows))
             for place in _taps(kernel, results, window)]
    return table.reshape(table.concatenate(tuple(parts), 2), (batch, channels * count, windows))


def _fold(table: Table, columns: Any, window: Window, kernel: Shape, sizes: Shape) -> Any:
    """(N, C * taps, windows) -> (N, C, *sizes)."""
    batch, rows, _ = columns.shape
    count, padded = prod(kernel), _padded_sizes(sizes, window)
    channels, results = rows // count, window.output_sizes(sizes, kernel)
    dtype, total = table.dtype_of(columns), table.full((batch, channels, *padded), 0, table.dtype_of(columns))
    if batch * channels:
        parts = table.reshape(columns, (batch, channels, count, *results))
        for tap, place in enumerate(_taps(kernel, results, window)):
            total = _add(table, total, (*LEADING, *place), table.slice(parts, (*LEADING, tap)))
    inner = [slice(low, low + size) for low, size in zip(window.low, sizes)]
    return table.copy(table.slice(total, (*LEADING, *inner))) if padded != sizes else table.cast(total, dtype)


def _add(table: Table, total: Any, place: tuple[slice, ...], part: Any) -> Any:
    """The total with a part of it added to; itself where views alias."""
    summed = registry["add"].run((table.slice(total, place), part))
    if not table.aliases:
        return table.put_slice(total, place, summed)
    table.assign(table.slice(total, place), summed)
    return total


_unfold_op = Primitive("unfold", _unfold, lambda ops, info, g, window, kernel: (
    ops.fold(g, window=window, kernel=kernel, sizes=info.shape(0)[2:]),), linear=ALL)
_fold_op = Primitive("fold", _fold, lambda ops, info, g, window, kernel, sizes: (
    ops.unfold(g, window=window, kernel=kernel),), flops=flops.per_input(1), linear=ALL)


def _geometry(op: str, sizes: Shape, kernel_size: Size, dilation: Size, padding: Padding, stride: Size
              ) -> tuple[Window, Shape]:
    ndim = len(sizes)
    kernel = per_axis(op, "kernel_size", kernel_size, ndim)
    steps, spreads = per_axis(op, "stride", stride, ndim), per_axis(op, "dilation", dilation, ndim)
    window = window_of(steps, padding_pairs(op, padding, sizes, kernel, steps, spreads), spreads)
    if min(window.output_sizes(sizes, kernel)) < 1:
        raise ShapeError(f"{op}: kernel {kernel} with dilation {spreads} is larger than {sizes} padded by "
                         f"{list(zip(window.low, window.high))}. Pad more, or use a smaller kernel.")
    check_extent(op, _padded_sizes(sizes, window), steps, spreads)
    return window, kernel


def _spatial(*sizes: Size) -> int:
    """How many spatial axes arguments speak of: two, unless one lists another number."""
    listed = [len(size) for size in sizes if isinstance(size, (tuple, list)) and len(size) > 1]
    return listed[0] if listed else 2


@public(method=False)
def unfold(x: Any, kernel_size: Size, dilation: Size = 1, padding: Padding = 0, stride: Size = 1) -> Tensor:
    """What each window reads as a column: ``(N, C, *sizes)`` to ``(N, C * taps, windows)``, as PyTorch's.

    Two spatial axes, or as many as kernel_size lists; an input without batch gives a result without it.

    >>> import lucid_nb as lnb
    >>> lnb.unfold(lnb.arange(9).reshape(1, 3, 3), 2).tolist()
    [[0, 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8]]
    """
    x = as_tensor("unfold", x)
    ndim = _spatial(kernel_size)
    if x.ndim not in (ndim + 1, ndim + 2):
        raise ShapeError(f"unfold: an input of shape {x.shape} for {ndim} spatial axes. It needs channels before them, "
                         "and may have a batch.")
    window, kernel = _geometry("unfold", x.shape[-ndim:], kernel_size, dilation, padding, stride)
    batch = x if x.ndim == ndim + 2 else reshape(x, 1, *x.shape)
    found = apply(_unfold_op, (batch,), {"window": window, "kernel": kernel})
    return found if batch is x else reshape(found, found.shape[1:])


@public(method=False)
def fold(x: Any, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Padding = 0,
         stride: Size = 1) -> Tensor:
    """Columns (N, C * taps, windows) added up where windows of an output_size read them: the transpose of unfold.

    >>> import lucid_nb as lnb
    >>> lnb.fold(lnb.ones((4, 4)), (3, 3), 2).tolist()
    [[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]
    """
    x = as_tensor("fold", x)
    ndim = _spatial(output_size, kernel_size)
    sizes = per_axis("fold", "output_size", output_size, ndim)
    window, kernel = _geometry("fold", sizes, kernel_size, dilation, padding, stride)
    taps, windows = shapes.product(kernel), shapes.product(window.output_sizes(sizes, kernel))
    if x.ndim not in (2, 3) or x.shape[-2] % taps or x.shape[-1] != windows:
        raise ShapeError(f"fold: an input of shape {x.shape} for {windows} windows of {taps} cells. It needs channels "
                         f"times {taps} rows and {windows} columns, and may have a batch.")
    batch = x if x.ndim == 3 else reshape(x, 1, *x.shape)
    found = apply(_fold_op, (batch,), {"window": window, "kernel": kernel, "sizes": sizes})
    return found if batch is x else reshape(found, found.shape[1:])

"""Pools: maxima and averages of windows over spatial axes, and the way back from maxima.

A device without the entries of the table gathers what windows read: one row of cells for each tap of each window.
"""

from typing import Any

import numpy as np

from .. import backend, dtypes, flops, shapes
from ..apply import apply
from ..array import Tensor
from ..backend import Table
from ..errors import DTypeError, ShapeError
from ..op import ALL, Info, Primitive, registry
from ..shapes import Shape, product
from ..windows import Axis, cells, reads
from .movement import as_tensor, astype, reshape
from .places import take_places
from .scattering import scatter

Axes = tuple[Axis, ...]


def _lead(shape: Shape, axes: Axes) -> Shape:
    """The axes before the spatial ones."""
    return shape[:len(shape) - len(axes)]


def _sizes(axes: Axes) -> Shape:
    return tuple([axis.size for axis in axes])


def _results(axes: Axes) -> Shape:
    return tuple([axis.results for axis in axes])


# ------------------------------------------------------------------------------------- of what windows read
def lowest(dtype: np.dtype) -> Any:
    """What no element is below: minus infinity, the smallest integer, False."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return False if dtype.kind == "b" else -np.inf


def _gathered(table: Table, x: Any, axes: Axes, filler: Any) -> tuple[Any, np.ndarray]:
    """(results, taps, planes): what each tap of each window reads, a filler where it has less; and from where."""
    shape, dtype = tuple(x.shape), table.dtype_of(x)
    planes, size = product(_lead(shape, axes)), product(_sizes(axes))
    rows = table.permute(table.reshape(x, (planes, size)), (1, 0))
    places = reads(axes)
    padded = table.concatenate((rows, table.full((1, planes), filler, dtype)), 0)
    return table.gather(padded, table.from_numpy(places)), places


def _restored(table: Table, rows: Any, shape: Shape) -> Any:
    """(results, planes) in the shape that has planes first."""
    return table.reshape(table.permute(rows, (1, 0)), shape)


def _max_pool(table: Table, x: Any, axes: Axes) -> tuple[Any, Any]:
    if table.has("max_pool"):
        return table.max_pool(x, axes)
    shape = (*_lead(tuple(x.shape), axes), *_results(axes))
    if 0 in shape:
        return table.empty(shape, table.dtype_of(x)), table.empty(shape, dtypes.INT64)
    read, places = _gathered(table, x, axes, lowest(table.dtype_of(x)))
    taps = table.arg_reduce("max", read, 1, False)
    starts = table.from_numpy(np.arange(len(places))[:, None] * places.shape[1])
    where = table.gather(table.from_numpy(places.reshape(-1)), registry["add"].run((taps, starts)))
    values = table.reduce("max", read, (1,), False, table.dtype_of(x))
    return _restored(table, values, shape), _restored(table, where, shape)


def _max_pool_grad(table: Table, g: Any, places: Any, axes: Axes) -> Any:
    if table.has("max_pool_grad"):
        return table.max_pool_grad(g, places, axes)
    lead, results, sizes = _lead(tuple(g.shape), axes), _results(axes), _sizes(axes)
    zeros = table.full((product(lead), product(sizes)), 0, table.dtype_of(g))
    flat = [table.reshape(part, (product(lead), product(results))) for part in (places, g)]
    return table.reshape(registry["add_along"].run((zeros, *flat), {"axis": 1}), (*lead, *sizes))


def _divisors(table: Table, axes: Axes, include_padding: bool, divisor: float | None, dtype: np.dtype) -> Any:
    counts = cells(axes, include_padding) if divisor is None else np.full(_results(axes), divisor)
    return table.from_numpy(counts.astype(dtype))


def _avg_pool(table: Table, x: Any, axes: Axes, include_padding: bool, divisor: float | None) -> Any:
    if table.has("avg_pool"):
        return table.avg_pool(x, axes, include_padding, divisor)
    dtype, shape = table.dtype_of(x), (*_lead(tuple(x.shape), axes), *_results(axes))
    if 0 in shape:
        return table.empty(shape, dtype)
    sums = table.reduce("sum", _gathered(table, x, axes, 0)[0], (1,), False, dtype)
    counts = _divisors(table, axes, include_padding, divisor, dtype)
    return registry["divide"].run((_restored(table, sums, shape), counts))


def _avg_pool_grad(table: Table, g: Any, axes: Axes, include_padding: bool, divisor: float | None) -> Any:
    if table.has("avg_pool_grad"):
        return table.avg_pool_grad(g, axes, include_padding, divisor)
    dtype, lead, places = table.dtype_of(g), _lead(tuple(g.shape), axes), reads(axes)
    planes, size = product(lead), product(_sizes(axes))
    if planes == 0:
        return table.empty((*lead, *_sizes(axes)), dtype)
    shares = registry["divide"].run((g, _divisors(table, axes, include_padding, divisor, dtype)))
    rows = table.permute(table.reshape(shares, (planes, len(places))), (1, 0))
    spread = table.gather(rows, table.from_numpy(np.repeat(np.arange(len(places)), places.shape[1])))
    total = table.scatter_add(table.full((size + 1, planes), 0, dtype), table.from_numpy(places.reshape(-1)), spread)
    return _restored(table, table.slice(total, (slice(0, size),)), (*lead, *_sizes(axes)))


# ---------------------------------------------------------------------------------------------- primitives
def _pull_max(ops: Any, info: Info, g: Any, places: Any, axes: Axes) -> tuple:
    return (ops.max_pool_grad(g[0], places, axes=axes) if 0 in g else None,)


def _pull_max_grad(ops: Any, info: Info, g: Any, places: Any, axes: Axes) -> tuple:
    """Elements of g at the places."""
    shape = info.shape(0)
    planes, count = product(_lead(shape, axes)), product(_results(axes))
    flat = ops.reshape(g, shape=(planes, product(_sizes(axes))))
    found = ops.take_along(flat, ops.reshape(places, shape=(planes, count)), axis=1)
    return ops.reshape(found, shape=shape), None


_max = Primitive("max_pool", _max_pool, _pull_max, keeps=(2,), flops=flops.max_pool)
_max_grad = Primitive("max_pool_grad", _max_pool_grad, _pull_max_grad, keeps=(1,), flops=flops.per_input(1),
                      linear=((0,),))
_average = Primitive("avg_pool", _avg_pool, lambda ops, info, g, **how: (ops.avg_pool_grad(g, **how),),
                     flops=flops.avg_pool, linear=ALL)
_average_grad = Primitive("avg_pool_grad", _avg_pool_grad, lambda ops, info, g, **how: (ops.avg_pool(g, **how),),
                          flops=flops.avg_pool, linear=ALL)


# ----------------------------------------------------------------------------------------------- functions
def pooled_input(op: str, x: Any, ndim: int) -> Tensor:
    """A tensor of `ndim` spatial axes behind channels and, where there is one, the batch."""
    x = as_tensor(op, x)
    if x.ndim not in (ndim + 1, ndim + 2):
        raise ShapeError(f"{op}: an input of shape {x.shape}. It needs channels and {ndim} spatial axes, and may have "
                         "a batch before them.")
    if 0 in x.shape[-ndim:]:
        raise ShapeError(f"{op}: an input of shape {x.shape} has no cells to pool. Spatial axes need 1 or more.")
    return x


def max_pool(op: str, x: Tensor, axes: Axes) -> tuple[Tensor, Tensor]:
    """Maxima of windows over the last axes, and their places in the flat plane of these axes.

    NaN wins, the first of equals counts, and the gradient goes to these places.
    """
    if x.dtype.kind == "c":
        raise DTypeError(f"{op}: {x.dtype} has no order. Take abs(x).")
    values, places = apply(_max, (x,), {"axes": axes})
    return values, places


def indices_of(places: Tensor) -> Tensor:
    """Places as users get them."""
    return astype(places.detach(), dtypes.INT64, copy=False)


def avg_pool(op: str, x: Tensor, axes: Axes, include_padding: bool = True, divisor: int | None = None) -> Tensor:
    """Sums of windows over the last axes, divided by a divisor, or by how many cells they have."""
    x = astype(x, dtypes.real_float(op, x.dtype, x.device), copy=False)
    return apply(_average, (x,), {"axes": axes, "include_padding": bool(include_padding), "divisor": divisor})


def max_unpool(op: str, x: Tensor, indices: Any, sizes: Shape) -> Tensor:
    """Zeros over the last axes, of these sizes, in which the elements of x stand at their indices."""
    indices = as_tensor(op, indices)
    if indices.shape != x.shape:
        raise ShapeError(f"{op}: indices of shape {indices.shape} for an input of shape {x.shape}. Make them equal.")
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"{op}: indices are {indices.dtype}. Use those that the max pool returned.")
    lead, size = x.shape[:x.ndim - len(sizes)], product(sizes)
    host = indices.to_host()
    if host.size and not (host.min() >= 0 and host.max() < size):
        raise ShapeError(f"{op}: indices from {host.min()} to {host.max()} for {sizes}, which is {size} cells. "
                         "Give output_size.")
    table, planes = backend.of(x.raw), product(lead)
    zeros = Tensor(table.full((planes, size), 0, x.dtype))
    count = product(x.shape[len(lead):])
    found = scatter(zeros, reshape(indices, planes, count), reshape(x, planes, count), axis=1)
    return reshape(found, (*lead, *sizes))


def max_of_chosen(x: Tensor, taps: Shape, firsts: list[np.ndarray]) -> tuple[Tensor, Tensor]:
    """Maxima of windows that begin elsewhere in every plane, and their places.

    x: (planes, *sizes). firsts: for each axis the first cells of the windows along it, (planes, results).
    """
    places = np.zeros((len(x), 1, 1), np.int64)
    for size, count, first in zip(x.shape[1:], taps, firsts):
        here = first[:, :, None] + np.arange(count)
        places = (places[:, :, None, :, None] * size + here[:, None, :, None, :]).reshape(
            len(x), places.shape[1] * first.shape[1], places.shape[2] * count)
    flat = reshape(x, len(x), product(x.shape[1:]))
    table = backend.of(x.raw)
    read = take_places(flat.detach(), Tensor(table.from_numpy(places.reshape(len(x), product(places.shape[1:])))), 1)
    best = table.to_numpy(table.arg_reduce("max", table.reshape(read.raw, places.shape), 2, False))
    where = np.take_along_axis(places, np.asarray(best)[..., None], 2)[..., 0]
    chosen = Tensor(table.from_numpy(where))
    return take_places(flat, chosen, 1), chosen


def checked_sizes(op: str, wanted: Any, least: Shape, most: Shape) -> Shape:
    """Spatial sizes between bounds that are not allowed themselves, of an output_size with or without what leads."""
    given = tuple([shapes.as_integer(op, "output_size", size) for size in wanted])
    given = given[len(given) - len(least):]
    if len(given) != len(least) or any(not low < size < high for low, size, high in zip(least, given, most)):
        raise ShapeError(f"{op}: output_size {tuple(wanted)} is not between {least} and {most}, exclusive. "
                         "Use the size of the pooled input.")
    return given

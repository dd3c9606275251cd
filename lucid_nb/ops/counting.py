"""Counting: occurrences of integers, histograms in one and more dimensions, and the numbers of bins."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import backend, dtypes, flops, shapes
from ..apply import apply, as_array, as_operand
from ..array import Tensor, fresh
from ..errors import DTypeError, ShapeError, out_of_memory
from ..op import Info, Primitive
from ..register import public
from ..storage import Slice
from .hosted import hosted
from .movement import astype, reshape
from .positions import host_positions

INDEX, DOUBLE = dtypes.INT64, dtypes.FLOAT64
WIDEST = 2 ** 53                                     # integers up to it are the same as float64


def _pull_tally(ops: Any, info: Info, g: Any, places: Any, bins: int) -> tuple:
    return None, ops.gather(g, places, axis=0)


_tally = Primitive("tally", lambda table, places, weights, bins: table.scatter_add(
    table.full((bins,), 0, table.dtype_of(weights)), places, weights), _pull_tally, keeps=(0,),
                   flops=flops.per_input(1, 1))


def tallied(op: str, places: Any, weights: Tensor | None, bins: int, device: str) -> Tensor:
    """How often each of 0 to bins - 1 occurs (int64), or the sums of weights there, in order.

    The places are raw, on the host or on the device.
    """
    table, counter = backend.table(device), backend.of(places)
    shapes.check_sizes(op, (bins,))
    if weights is None:
        try:
            counts = counter.bincount(places, bins)
            return fresh(counts if counter is table else table.from_numpy(counts))
        except MemoryError as error:
            raise out_of_memory(op, f"counting in {bins} bins", error) from error
    there = fresh(places if counter is table else table.from_numpy(places))
    found: Tensor = apply(_tally, (there, weights), {"bins": bins})
    return found


def _host(op: str, x: Any) -> np.ndarray:
    """A detached array on the host."""
    found = x.to_host() if isinstance(x, Tensor) else as_array(op, x)
    dtypes.check_supported(op, found.dtype)
    return found


def _weights(op: str, weights: Any, like: tuple[int, ...], device: str) -> Tensor | None:
    """The weights, flat, in the shape of what is counted."""
    if weights is None:
        return None
    found = weights if isinstance(weights, Tensor) else as_operand(op, weights, device)
    if found.shape != like:
        raise ShapeError(f"{op}: weights of shape {found.shape} for {like}. Give one for each element.")
    return reshape(found, -1)


def _countable(x: Any) -> Any:
    """The raw array of a tensor whose device counts by itself, so that it need not come to the host; else None."""
    if not isinstance(x, Tensor) or x.device == "cpu" or x.size == 0:
        return None
    raw = x.refresh().raw
    table = backend.of(raw)
    return raw if table is backend.table(x.device) and table.has("bincount") else None


def _places(x: Any) -> Any:
    """Integers to count, as raw int64: where they are if their device counts by itself, else on the host."""
    raw = _countable(x)
    if raw is not None and (x.dtype.kind in "bi" or (x.dtype.kind == "u" and x.itemsize < 8)):
        return backend.of(raw).cast(raw, INDEX)
    return host_positions("bincount", x, True).astype(INDEX, copy=False)


def _device_of(x: Any) -> str:
    return x.device if isinstance(x, Tensor) else backend.default_device()


# ------------------------------------------------------------------------------------------------- integers
@public(method=False)
@hosted
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 on occurs, as int64; or the sums of weights, in float64 and differentiable in them.

    >>> import lucid_nb as lnb
    >>> lnb.bincount([1, 1, 3])
    tensor([0, 2, 0, 1])
    """
    positions = _places(x)
    if len(positions.shape) != 1:
        raise ShapeError(f"bincount: integers of shape {positions.shape}. Use one axis.")
    minlength = shapes.as_integer("bincount", "minlength", minlength)
    if minlength < 0:
        raise ShapeError(f"bincount: minlength {minlength} is negative. Use 0 or more.")
    low, high = backend.of(positions).span(positions) if positions.size else (0, -1)
    if low < 0:
        raise ShapeError(f"bincount: {low} is negative. Use integers from 0 on.")
    device = _device_of(x)
    found = _weights("bincount", weights, positions.shape, device)
    if found is not None:
        if found.dtype.kind == "c":
            raise DTypeError(f"bincount: weights are {found.dtype}. Count with .real and .imag.")
        found = astype(found, _accumulator(found.device, found.dtype), copy=False)
    return tallied("bincount", positions, found, max(high + 1, minlength), device)


def _accumulator(device: str, given: np.dtype = dtypes.FLOAT32) -> np.dtype:
    """The dtype of sums: float64; on mlx, whose GPUs have none, only of what is given in it."""
    return DOUBLE if device != "mlx" or given == DOUBLE else dtypes.FLOAT32


# ----------------------------------------------------------------------------------------------- histograms
@public(method=False)
@hosted
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    """The edges that `histogram` would use, as NumPy chooses them.

    >>> import lucid_nb as lnb
    >>> lnb.histogram_bin_edges([0.0, 1.0], bins=2)
    tensor([0. , 0.5, 1. ])
    """
    edges, _ = _edges("histogram_bin_edges", _host("histogram_bin_edges", a), bins, range, weights)
    return _edges_on(_device_of(a), edges, bins, a)


def _edges_on(device: str, edges: np.ndarray, bins: Any, data: Any) -> Tensor:
    """Edges on a device; on mlx in single precision, unless the data or the array of edges is double."""
    given = [x.dtype for x in (bins, data)
             if isinstance(x, (Tensor, np.ndarray))]
    return fresh(backend.table(device).from_numpy(edges.astype(dtypes.on_device(edges.dtype, device, given))))


def _edges(op: str, x: np.ndarray, bins: Any, range: Any, weights: Any) -> tuple[np.ndarray, bool]:
    """Edges of bins, and whether they are equally wide; NumPy's rules, and its refusals in our words."""
    is_equal = isinstance(bins, str) or np.ndim(bins) == 0
    data = x.astype(np.float32) if x.dtype == dtypes.BFLOAT16 else x.astype(np.uint8) if x.dtype.kind == "b" else x
    if not is_equal:
        bins = _host(op, bins)
    elif not isinstance(bins, str) and range is None and data.size and data.dtype.kind in "fiu":
        # Only the ends decide: NumPy's own extremes of all data would be taken once more.
        data = np.array([data.min(), data.max()], data.dtype)
    ends = _plain_range(op, range)
    try:
        ones = None if weights is None else np.ones(data.shape)          # that there are weights is all that counts
        edges = np.histogram_bin_edges(data, bins, ends, ones)
    except TypeError as error:
        raise DTypeError(f"{op}: {error}. Use a positive integer, the name of a rule, or edges.") from None
    except ValueError as error:
        raise ShapeError(f"{op}: {str(error).rstrip('.')}. Change bins or range.") from None
    return np.asarray(edges), is_equal


def _plain_range(op: str, range: Any) -> Any:
    """A range of numbers that NumPy knows."""
    if range is None:
        return None
    found = tuple([end.item() if isinstance(end, Tensor) else end for end in range]) if np.iterable(range) else ()
    if len(found) != 2 or any(isinstance(end, str) or np.ndim(end) for end in found):
        raise DTypeError(f"{op}: range {range!r} is not two numbers. Give (low, high).")
    return found


def _bin_places(x: np.ndarray, edges: np.ndarray, is_equal: bool) -> np.ndarray:
    """The bin of each number; how many bins there are for those outside. The last bin has its right edge."""
    flat, bins = x.reshape(-1), edges.size - 1
    if is_equal and _fits_float64(flat):
        found: np.ndarray = backend.table("cpu").bin_places(flat, edges.astype(DOUBLE))
        return found
    if bins < 1:
        return np.zeros(flat.shape, INDEX)
    places = _searched(edges, flat, "right") - 1
    places[flat == edges[-1]] = bins - 1
    places[(places < 0) | (places > bins)] = bins
    return places


def _searched(edges: np.ndarray, x: np.ndarray, side: str) -> np.ndarray:
    """Where numbers belong among sorted edges."""
    common = np.result_type(edges, x)
    found: np.ndarray = backend.table("cpu").searchsorted(edges.astype(common), x.astype(common), side)
    return found


def _fits_float64(x: np.ndarray) -> bool:
    """Is nothing lost when the numbers become float64?"""
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8 or x.size == 0:
        return x.dtype.kind != "c"
    return int(x.min()) >= -WIDEST and int(x.max()) <= WIDEST


@public(method=False)
@hosted
def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool | None = None,
              weights: Any = None) -> tuple[Tensor, Tensor]:
    """How many elements each bin has (int64), or their weights (differentiable in them), and the edges of the bins.

    `bins`: how many of equal width, edges that grow, or the name of a rule of NumPy's ("auto", "fd", ...). `range`: the
    outer edges, by default the extremes. Bins are half-open but for the last. `density`: divided by the bins' widths
    and the sum, so that the integral is 1.

    >>> import lucid_nb as lnb
    >>> lnb.histogram([1.0, 2.0, 1.0], bins=[0, 1, 2, 3])
    (tensor([0, 2, 1]), tensor([0, 1, 2, 3]))
    """
    if weights is None and np.ndim(bins) == 0 and not isinstance(bins, str) and _countable(a) is not None:
        counted = _histogram_there(a, bins, range)
        if counted is not None:
            return _finished(*counted, density, bins, a)
    host, device = _host("histogram", a), _device_of(a)
    found = _weights("histogram", weights, host.shape, device)
    edges, is_equal = _edges("histogram", host, bins, range, weights)
    count = edges.size - 1
    if found is None and is_equal and host.size and _fits_float64(host):
        counts = fresh(backend.table(device).from_numpy(backend.table("cpu").histogram(host, edges.astype(DOUBLE))))
    else:
        counts = tallied("histogram", _bin_places(host, edges, is_equal), found, count + 1, device)
        counts = counts.moved(Slice((slice(0, count),))) if count >= 0 else counts
    return _finished(counts, edges, density, bins, a)


def _histogram_there(x: Tensor, bins: Any, range: Any) -> tuple[Tensor, np.ndarray] | None:
    """Counts by a device of its own, which tells the host the extremes alone, and the edges; None where it cannot."""
    if x.dtype.kind not in "fiu":
        return None
    ends = np.array([x.min().item(), x.max().item()], x.dtype)
    edges, _ = _edges("histogram", ends, bins, range, None)
    if not _fits_float64(ends):
        return None
    raw = x.refresh().raw
    table = backend.of(raw)
    return fresh(table.histogram(raw, table.from_numpy(edges.astype(DOUBLE)))), edges


def _finished(counts: Tensor, edges: np.ndarray, density: bool | None, bins: Any, data: Any) -> tuple[Tensor, Tensor]:
    """Counts, as a density where that is asked for, and edges, on the device of the counts."""
    table = backend.table(counts.device)
    if density:
        widths = fresh(table.from_numpy(np.diff(edges).astype(_accumulator(counts.device))))
        counts = counts / widths / counts.sum()
    return counts, _edges_on(counts.device, edges, bins, data)


@public(method=False)
@hosted
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None,
                weights: Any = None) -> tuple[Tensor, Tensor, Tensor]:
    """How many points (x, y) each cell has, as floats, and the edges on both axes.

    >>> import lucid_nb as lnb
    >>> lnb.histogram2d([0.0, 1.0, 1.0], [0.0, 1.0, 1.0], bins=2)[0]
    tensor([[1., 0.],
            [0., 2.]])
    """
    one, other = _host("histogram2d", x), _host("histogram2d", y)
    if one.shape != other.shape or one.ndim != 1:
        raise ShapeError(f"histogram2d: points of shapes {one.shape} and {other.shape}. "
                         "Give as many of each, on one axis.")
    sizes = len(list(bins)) if np.iterable(bins) else 0
    if sizes > 2 or isinstance(bins, str):
        bins = [bins, bins]                                         # edges, the same on both axes
    elif sizes == 1:
        bins = [bins[0], bins[0]]
    counts, (rows, cols) = _cells("histogram2d", [one, other], bins, range, density, weights, _device_of(x))
    return counts, rows, cols


@public(method=False)
@hosted
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None,
                weights: Any = None) -> tuple[Tensor, list[Tensor]]:
    """How many points each cell of a grid has, as floats, and the list of the edges on each axis.

    `sample`: (n, axes), or a sequence of arrays of n numbers. `bins`, `range`: for all axes, or a sequence of one an
    axis.

    >>> import lucid_nb as lnb
    >>> lnb.histogramdd([[0.0, 0.0], [1.0, 1.0]], bins=2)[0]
    tensor([[1., 0.],
            [0., 1.]])
    """
    if isinstance(sample, (list, tuple)) and sample and isinstance(sample[0], (Tensor, np.ndarray)):
        columns = [_host("histogramdd", part) for part in sample]
    else:
        points = np.atleast_2d(_host("histogramdd", sample).T).T
        columns = list(points.T)
    device = _device_of(sample[0] if isinstance(sample, (list, tuple)) and sample else sample)
    counts, edges = _cells("histogramdd", columns, bins, range, density, weights, device)
    return counts, edges


def _grid_edges(op: str, column: np.ndarray, bins: Any, range: Any) -> tuple[np.ndarray, bool]:
    """The edges on one axis: in float64, but between extremes of narrower floats as narrow as these, as in NumPy."""
    data = column.astype(DOUBLE, copy=False) if column.dtype.kind != "c" else column
    limits, is_equal = _edges(op, data, bins, range, None)
    if is_equal and range is None and column.size and column.dtype.kind == "f" and column.dtype != DOUBLE:
        first, last = limits[[0, -1]].astype(column.dtype)
        limits = np.linspace(first, last, limits.size, dtype=column.dtype)
    return limits, is_equal


def _cells(op: str, columns: Sequence[np.ndarray], bins: Any, range: Any, density: bool | None, weights: Any,
           device: str) -> tuple[Tensor, list[Tensor]]:
    """Counts or sums of weights in the cells of a grid, and the edges on each axis."""
    each = [bins] * len(columns) if not isinstance(bins, (list, tuple)) and np.ndim(bins) == 0 else list(bins)
    if range is not None and not isinstance(range, (list, tuple, np.ndarray)):
        raise DTypeError(f"{op}: range {range!r} is not a sequence. Give (low, high) for each axis.")
    ranges = [None] * len(columns) if range is None else list(range)
    if len(each) != len(columns) or len(ranges) != len(columns):
        raise ShapeError(f"{op}: {len(each)} bins and {len(ranges)} ranges for {len(columns)} axes. Give one for each.")
    edges: list[np.ndarray] = []
    flat: Any = 0
    for column, one, ends in zip(columns, each, ranges):
        limits, is_equal = _grid_edges(op, column, one, ends)
        edges.append(limits)
        flat = flat * limits.size + _bin_places(column, limits, is_equal)   # one cell more on each axis, for the rest
    found = _weights(op, weights, columns[0].shape, device)
    accumulator = _accumulator(device) if found is None else _accumulator(device, found.dtype)
    if found is not None:
        found = astype(found, accumulator, copy=False)
    sizes = [limits.size for limits in edges]
    counts = reshape(tallied(op, np.asarray(flat, INDEX), found, shapes.product(tuple(sizes)), device), tuple(sizes))
    counts = astype(counts.moved(Slice(tuple([slice(0, size - 1) for size in sizes]))), accumulator)
    table = backend.table(device)
    if density:
        total = counts.sum()
        for axis, limits in enumerate(edges):
            shape = [1] * len(edges)
            shape[axis] = -1
            counts = counts / reshape(fresh(table.from_numpy(np.diff(limits).astype(accumulator))), tuple(shape))
        counts = counts / total
    return counts, [_edges_on(device, *parts) for parts in zip(edges, each, columns)]


@public(method=False)
@hosted
def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """The number of the bin of each element: i where bins[i - 1] <= x < bins[i], 0 before and len(bins) after them.

    `bins`: one axis that grows, or falls, with the inequalities turned. `right`: the right edges belong to the bins.

    >>> import lucid_nb as lnb
    >>> lnb.digitize([0.5, 2.0, 9.0], [1, 2, 3])
    tensor([0, 2, 3])
    """
    host, edges = _host("digitize", x), _host("digitize", bins)
    if host.dtype.kind == "c":
        raise DTypeError(f"digitize: {host.dtype} has no order. Take .real, or abs(x).")
    if edges.ndim != 1:
        raise ShapeError(f"digitize: bins of shape {edges.shape}. Use one axis.")
    falls = edges.size > 1 and bool((edges[1:] <= edges[:-1]).all()) and edges[0] > edges[-1]
    if not falls and not (edges[1:] >= edges[:-1]).all():
        raise ShapeError("digitize: bins neither grow nor fall all along. Sort them.")
    side = "left" if right else "right"
    if falls:
        found = edges.size - _searched(edges[::-1], host, side)
    else:
        found = _searched(edges, host, side)
    return fresh(backend.table(_device_of(x)).from_numpy(np.asarray(found, INDEX)))

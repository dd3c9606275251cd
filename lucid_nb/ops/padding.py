"""Padding: an array made larger, by constants, by its own elements, by ramps and by statistics of its edges."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .. import backend, flops, shapes, tape
from ..apply import apply, as_array
from ..array import Tensor
from ..errors import DTypeError, ShapeError, is_one_of
from ..op import Info, Primitive
from ..register import functions, public
from ..storage import Broadcast, Slice
from .movement import as_tensor, astype, duplicate, joined

Pairs = tuple[tuple[Any, Any], ...]
SOURCES = ("edge", "reflect", "symmetric", "wrap")
STATISTICS = {"maximum": "max", "minimum": "min", "mean": "mean", "median": "median"}
# The options that each mode takes, and their values where none is given.
OPTIONS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0}, "edge": {}, "empty": {}, "wrap": {}, "linear_ramp": {"end_values": 0},
    "reflect": {"reflect_type": "even"}, "symmetric": {"reflect_type": "even"},
    **{mode: {"stat_length": None} for mode in STATISTICS}}


def _pull_pad(ops: Any, info: Info, g: Any, pairs: tuple[tuple[int, int], ...], value: Any) -> tuple:
    """The gradient of the middle."""
    middle = tuple([slice(low, low + size) for size, (low, _) in zip(info.shape(0), pairs)])
    return (ops.view(g, steps=(Slice((*middle, ...)),)),)


_pad = Primitive("pad_constant", lambda table, x, pairs, value: table.pad(x, pairs, value), _pull_pad)


@public()
def pad(array: Any, pad_width: Any, mode: str | Callable = "constant", **options: Any) -> Tensor:
    """The array with cells before and after each axis.

    `pad_width`: an int, a pair (before, after), a pair for each axis, or {axis: int or pair}. `mode`: "constant" (with
    constant_values=0), "edge", "reflect" and "symmetric" (with reflect_type="even" or "odd"), "wrap", "linear_ramp"
    (with end_values=0), "maximum", "minimum", "mean", "median" (with stat_length=None), "empty" (any content), or a
    function of NumPy's kind, which runs on the host. All but the last two are differentiable.

    >>> import lucid_nb as lnb
    >>> lnb.pad([1, 2, 3], (2, 1), "reflect")
    tensor([3, 2, 1, 2, 3, 2])
    """
    array = as_tensor("pad", array)
    pairs = _widths(pad_width, array.ndim)
    shapes.check_sizes("pad", tuple(size + low + high for size, (low, high) in zip(array.shape, pairs)))
    if callable(mode):
        padded = np.pad(np.asarray(array.to("cpu")), pairs, mode, **options)
        return Tensor(backend.of(array.raw).from_numpy(padded))
    found = _checked_options(mode, options)
    if mode in ("constant", "empty"):
        return _constant(array, pairs, _per_axis("constant_values", found.get("constant_values", 0), array.ndim))
    _refuse_empty(array.shape, pairs, mode)
    if mode == "linear_ramp":
        return _by_axis(array, pairs, _ramps, _per_axis("end_values", found["end_values"], array.ndim))
    if mode in STATISTICS:
        lengths = _per_axis("stat_length", found["stat_length"], array.ndim)
        return _by_axis(array, pairs, _statistic(STATISTICS[mode]), lengths)
    kind = found.get("reflect_type", "even")
    if not is_one_of(kind, ("even", "odd")):
        raise ShapeError(f"pad: reflect_type {kind!r} is unknown. Use 'even' or 'odd'.")
    if kind == "odd":
        return _by_axis(array, pairs, _odd_reflections, ((mode, mode),) * array.ndim)
    return apply(_pad_self, (array,), {"pairs": pairs, "mode": mode})


# ----------------------------------------------------------------------------------------------- arguments
def _checked_options(mode: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The mode's options with their defaults."""
    if not is_one_of(mode, OPTIONS):
        raise ShapeError(f"pad: mode {mode!r} is unknown. Use one of {', '.join(OPTIONS)}.")
    unknown = [name for name in options if name not in OPTIONS[mode]]
    if unknown:
        raise ShapeError(f"pad: mode {mode!r} does not take {', '.join(unknown)}. "
                         f"It takes {', '.join(OPTIONS[mode]) or 'no options'}.")
    return {**OPTIONS[mode], **options}


def _widths(given: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """(before, after) for each axis."""
    if isinstance(given, dict):
        found: list[Any] = [(0, 0)] * ndim
        for axis, width in given.items():
            pair = width if isinstance(width, (tuple, list)) else (width, width)
            found[shapes.normalize_axis("pad", axis, ndim)] = pair
        given = found if ndim else 0
    array = given.to_host() if isinstance(given, Tensor) else as_array("pad", given)
    if array.size and array.dtype.kind not in "iu":
        raise DTypeError(f"pad: widths {given!r} are not integers. Use integers.")
    if array.size and array.min() < 0:
        raise ShapeError(f"pad: widths {given!r} hold a negative number. Use 0 or more.")
    pairs = _per_axis("pad_width", array.astype(np.int64), ndim)
    return tuple((int(low), int(high)) for low, high in pairs)


def _per_axis(what: str, given: Any, ndim: int) -> Pairs:
    """A pair for each axis of what is one thing, one pair, one for each axis, or pairs."""
    if given is None or (isinstance(given, Tensor) and given.ndim == 0):
        return ((given, given),) * ndim
    array = given.to_host() if isinstance(given, Tensor) else np.asarray(given)
    if array.size == 1:
        pairs = [(array.reshape(-1)[0],) * 2] * ndim
    elif array.shape in ((2,), (1, 2)):
        pairs = [tuple(array.reshape(-1))] * ndim
    elif array.shape == (ndim, 1):
        pairs = [(one, one) for one in array[:, 0].tolist()]          # as NumPy, which makes these weak
    elif array.shape == (ndim, 2):
        pairs = [tuple(pair) for pair in array.tolist()]
    else:
        raise ShapeError(f"pad: {what} of shape {array.shape} for {ndim} axes. Give one, a pair, or a pair an axis.")
    return tuple(pairs)


def _refuse_empty(shape: shapes.Shape, pairs: Pairs, mode: str) -> None:
    for axis, (size, pair) in enumerate(zip(shape, pairs)):
        if size == 0 and any(pair):
            raise ShapeError(f"pad: axis {axis} of shape {shape} is empty, and mode {mode!r} has nothing to repeat. "
                             "Use mode 'constant'.")


# ------------------------------------------------------------------------------------------------- filling
def _constant(x: Tensor, pairs: tuple[tuple[int, int], ...], values: Pairs) -> Tensor:
    """One value around all in one step; otherwise axis by axis."""
    flat = [value for pair in values for value in pair]
    if not flat or all(not isinstance(value, Tensor) and value == flat[0] for value in flat):
        value = np.asarray(flat[0] if flat else 0).astype(x.dtype)[()]
        return apply(_pad, (x,), {"pairs": pairs, "value": value})
    return _by_axis(x, pairs, _constants, values)


def _by_axis(x: Tensor, pairs: tuple[tuple[int, int], ...], fill: Callable, facts: Pairs) -> Tensor:
    """`fill(x, axis, (before, after), facts of the axis)` gives the parts before and after each axis, in turn."""
    tensors = [fact for pair in facts for fact in pair if isinstance(fact, Tensor)]
    if backend.batching.lift is not None:
        x = backend.batching.lift([x, *tensors])[0]            # which becomes the array that they are written into
    if backend.of(x.raw).aliases and not (tape.is_recording() and any(y.requires_grad for y in (x, *tensors))):
        return _in_place(x, pairs, fill, facts)
    padded = x
    for axis, (widths, about) in enumerate(zip(pairs, facts)):
        if any(widths):
            before, after = fill(padded, axis, widths, about)
            parts = [part for part in (*before, padded, *after) if part.shape[axis]]
            padded = joined("pad", parts or [padded], axis, None, padded.dtype, "unsafe")
    return duplicate(x, "C") if padded is x else padded


def _in_place(x: Tensor, pairs: tuple[tuple[int, int], ...], fill: Callable, facts: Pairs) -> Tensor:
    """The same in one array, where no gradient needs what is overwritten: the middle is copied once."""
    padded = apply(_pad, (x,), {"pairs": pairs, "value": 0})
    if padded.ndim == 0:
        return padded
    middle = [slice(low, low + size) for size, (low, _) in zip(x.shape, pairs)]
    for axis, (size, widths, about) in enumerate(zip(x.shape, pairs, facts)):
        if any(widths):
            ready = padded.moved(Slice((*(slice(None),) * axis, slice(None), *middle[axis + 1:], ...)))
            before, after = fill(_part(ready, axis, widths[0], widths[0] + size), axis, widths, about)
            for start, parts in ((0, before), (widths[0] + size, after)):
                for part in parts:
                    stop = start + part.shape[axis]
                    _part(ready, axis, start, stop).write(part, "pad")
                    start = stop
    return padded


def _part(x: Tensor, axis: int, start: int | None, stop: int | None, step: int | None = None) -> Tensor:
    """A slice of one axis."""
    return x.moved(Slice((*(slice(None),) * axis, slice(start, stop, step), ...)))


def _spread(value: Any, like: Tensor, axis: int, width: int) -> Tensor:
    """A value, or a part of size 1, `width` times along an axis."""
    if not isinstance(value, Tensor):
        value = Tensor(backend.of(like.raw).from_numpy(np.asarray(value).astype(like.dtype)))
    return astype(value, like.dtype, copy=False).moved(Broadcast((*like.shape[:axis], width, *like.shape[axis + 1:])))


def _constants(x: Tensor, axis: int, widths: tuple[int, int], values: tuple[Any, Any]) -> tuple:
    return tuple([_spread(value, x, axis, width)] for value, width in zip(values, widths))


def _ramps(x: Tensor, axis: int, widths: tuple[int, int], ends: tuple[Any, Any]) -> tuple:
    """Straight lines from the ends to the edges, which are not repeated."""
    edges = _part(x, axis, 0, 1), _part(x, axis, -1, None)
    before, after = (functions["linspace"](end, edge.moved(Slice((*(slice(None),) * axis, 0, ...))), width,
                                           endpoint=False, dtype=x.dtype, axis=axis)
                     for end, edge, width in zip(ends, edges, widths))
    return [before], [_part(after, axis, None, None, -1)]


def _statistic(name: str) -> Callable:
    """The parts before and after filled with a statistic of the cells next to them."""
    def fill(x: Tensor, axis: int, widths: tuple[int, int], lengths: tuple[Any, Any]) -> tuple:
        size = x.shape[axis]
        counts = [size if length is None else min(shapes.as_integer("pad", "stat_length", length), size)
                  for length in lengths]
        if any(length is not None and length < (name in ("max", "min")) for length in lengths):
            raise ShapeError(f"pad: stat_length {lengths} for {size} cells on axis {axis}. Use 1 or more of some.")
        edges = _part(x, axis, 0, counts[0]), _part(x, axis, size - counts[1], None)
        return tuple([_spread(_rounded(functions[name](edge, axis=axis, keepdims=True), x.dtype), x, axis, width)]
                     for edge, width in zip(edges, widths))
    return fill


def _rounded(value: Tensor, dtype: np.dtype) -> Tensor:
    """A mean in an integer dtype is the nearest integer."""
    return functions["rint"](value) if dtype.kind in "iu" and value.dtype.kind == "f" else value


# --------------------------------------------------------------------------------------- by its own elements
def _source(mode: str, places: np.ndarray, size: int) -> np.ndarray:
    """Which cell of the axis is seen at places outside it."""
    if mode == "edge" or size == 1:
        return np.clip(places, 0, size - 1)
    if mode == "wrap":
        return places % size
    period = 2 * size - (2 if mode == "reflect" else 0)
    within = places % period
    return np.minimum(within, period - within - (mode == "symmetric"))


def _runs(size: int, widths: tuple[int, int], mode: str) -> list[tuple[slice, slice]]:
    """(where, from where) in the padded axis, of runs outside the middle that are its cells forwards or backwards."""
    low, high = widths
    found = []
    for begin, end in ((-low, 0), (size, size + high)):
        places, start = _source(mode, np.arange(begin, end), size), 0
        while start < places.size:
            step = int(places[start + 1] - places[start]) if start + 1 < places.size else 1
            breaks = np.flatnonzero(np.diff(places[start:]) != step)
            count = int(breaks[0]) + 1 if breaks.size else places.size - start
            first, there = low + int(places[start]), low + begin + start
            stop = first + step * count if step else first + 1
            found.append((slice(there, there + count), slice(first, stop if stop >= 0 else None, step or None)))
            start += count
    return found


def _pad_by_itself(table: Any, x: Any, pairs: tuple[tuple[int, int], ...], mode: str) -> Any:
    """The middle, then the parts outside it axis by axis, each from what is there already."""
    shape = tuple(x.shape)
    if not table.aliases:
        for axis, (size, (low, high)) in enumerate(zip(shape, pairs)):
            places = _source(mode, np.arange(-low, size + high), size)
            order = (axis, *range(axis), *range(axis + 1, len(shape)))
            rows = table.gather(table.permute(x, order), table.from_numpy(places))
            x = table.permute(rows, shapes.inverse_permutation(order)) if low or high else x
        return x
    new = table.empty(tuple(low + size + high for size, (low, high) in zip(shape, pairs)), table.dtype_of(x))
    middle = [slice(low, low + size) for size, (low, _) in zip(shape, pairs)]
    table.assign(table.slice(new, tuple(middle)), x)
    for axis, (size, widths) in enumerate(zip(shape, pairs)):
        before, behind = (slice(None),) * axis, tuple(middle[axis + 1:])
        for there, here in _runs(size, widths, mode):
            table.assign(table.slice(new, (*before, there, *behind)), table.slice(new, (*before, here, *behind)))
    return new


def _pull_by_itself(ops: Any, info: Info, g: Any, pairs: tuple[tuple[int, int], ...], mode: str) -> tuple:
    """What arrives at each cell from all places where it is seen, summed axis by axis, the last one first."""
    for axis in reversed(range(len(pairs))):
        size, (low, high) = info.shape(0)[axis], pairs[axis]
        if low or high:
            places = _source(mode, np.arange(-low, size + high), size)
            order = (axis, *range(axis), *range(axis + 1, len(pairs)))
            rows = ops.permute(g, axes=order)
            found = ops.add_at(ops.zeros((size, *rows.shape[1:]), rows), rows, places=places)
            g = ops.permute(found, axes=shapes.inverse_permutation(order))
    return (g,)


_pad_self = Primitive("pad_by_itself", _pad_by_itself, _pull_by_itself)
_add_at = Primitive(
    "add_at", lambda table, x, rows, places: table.scatter_add(x, table.from_numpy(places), rows),
    lambda ops, info, g, places: (g, ops.rows_at(g, places=places)), flops=flops.per_input(1, 1))
_rows_at = Primitive(
    "rows_at", lambda table, x, places: table.gather(x, table.from_numpy(places)),
    lambda ops, info, g, places: (ops.add_at(ops.zeros(info.shape(0), g), g, places=places),))


def _odd_reflections(x: Tensor, axis: int, widths: tuple[int, int], modes: tuple[str, str]) -> tuple:
    """Reflections at a point: twice the edge less what lies across it. Where they are wide, in rounds, as NumPy's."""
    size, skipped = x.shape[axis], 1 if modes[0] == "reflect" else 0
    if size == 1:
        return tuple([_spread(x, x, axis, width)] for width in widths)
    (low, high), whole = widths, x
    before: list[Tensor] = []
    after: list[Tensor] = []
    while low > 0 or high > 0:
        period = size - skipped
        reach = (whole.shape[axis] - skipped) // period * period
        if low > 0:
            across = _part(whole, axis, skipped, skipped + min(reach, low))
            before.insert(0, 2 * _part(whole, axis, 0, 1) - _part(across, axis, None, None, -1))
            low -= reach
        if high > 0:
            end = whole.shape[axis] - skipped
            across = _part(whole, axis, end - min(reach, high), end)
            after.append(2 * _part(whole, axis, -1, None) - _part(across, axis, None, None, -1))
            high -= reach
        whole = joined("pad", [*before, x, *after], axis, None, x.dtype, "unsafe")
    return before, after

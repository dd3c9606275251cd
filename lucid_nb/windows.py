"""Geometry of windows that slide over spatial axes: their sizes and places, and what a user may say of them.

Pure arithmetic, before any work: a geometry that does not fit is refused here, the same on every device.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from .errors import ShapeError, told
from .shapes import MOST_ELEMENTS, Shape, Window, as_integer, check_sizes

Size = int | Sequence[int]
Padding = int | str | Sequence[Any]
Pairs = list[tuple[int, int]]
TRANSPOSED = "(size - 1) * stride - low - high + dilation * (kernel - 1) + output_padding + 1"


def check_extent(op: str, results: Sequence[int], *numbers: Sequence[int]) -> None:
    """Refuse results of more cells than memory can hold, and numbers that places are computed from in 64 bits."""
    check_sizes(op, tuple(results))
    for number in chain.from_iterable(numbers):
        if number > MOST_ELEMENTS:
            raise ShapeError(f"{op}: windows that reach {told(number)} cells, more than memory can hold. Use less.")


# ------------------------------------------------------------------------------------------- convolution
def per_axis(op: str, what: str, value: Size, ndim: int, least: int = 1) -> tuple[int, ...]:
    """One number for each spatial axis, none below the least."""
    found = tuple([as_integer(op, what, v) for v in (value if isinstance(value, (tuple, list)) else (value,))])
    found = found * ndim if len(found) == 1 else found
    if len(found) != ndim or min(found) < least:
        kind = "positive integers" if least else "integers that are not negative"
        raise ShapeError(f"{op}: {what} {value!r} for {ndim} spatial axes. Use {kind}, one or {ndim}.")
    return found


def padding_pairs(op: str, padding: Padding, sizes: Shape, kernel: Shape, stride: tuple[int, ...],
                  dilation: tuple[int, ...]) -> Pairs:
    """(low, high) for each spatial axis."""
    ndim = len(sizes)
    if isinstance(padding, str):
        if padding == "valid":
            return [(0, 0)] * ndim
        if padding != "same":
            raise ShapeError(f"{op}: padding {padding!r} is unknown. Use numbers, 'same' or 'valid'.")
        totals = [max((-(-size // step) - 1) * step + spread * (taps - 1) + 1 - size, 0)
                  for size, taps, step, spread in zip(sizes, kernel, stride, dilation)]
        return [(total // 2, total - total // 2) for total in totals]
    parts = list(padding) if isinstance(padding, (tuple, list)) else [padding]
    parts = parts * ndim if len(parts) == 1 else parts
    pairs = [tuple([as_integer(op, "padding", size) for size in (p if isinstance(p, (tuple, list)) else (p, p))])
             for p in parts]
    if len(pairs) != ndim or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise ShapeError(f"{op}: padding {padding!r} for {ndim} spatial axes. Use an int, {ndim} ints, or {ndim} "
                         "pairs, none negative.")
    return pairs  # type: ignore[return-value]


def window_of(stride: tuple[int, ...], pairs: Sequence[tuple[int, int]], dilation: tuple[int, ...],
              groups: int = 1) -> Window:
    """A window of these numbers."""
    return Window(stride, tuple([low for low, _ in pairs]), tuple([high for _, high in pairs]), dilation, groups)


def make_window(op: str, ndim: int, x: Shape, w: Shape, stride: Size, padding: Padding, dilation: Size,
                groups: int) -> Window:
    """The geometry of a convolution of x with w, after checking that all of it fits.

    Layers ask for the same one again and again. Plain integers alone are remembered: what is not one may equal one.
    """
    sizes = (stride, padding, dilation, groups)
    is_plain = all([type(size) is int or (type(size) is tuple and all([type(number) is int for number in size]))
                    for size in sizes])
    return (_remembered_window if is_plain else _window)(op, ndim, x, w, *sizes)


def _window(op: str, ndim: int, x: Shape, w: Shape, stride: Size, padding: Padding, dilation: Size,
            groups: int) -> Window:
    _check_ndim(op, ndim, x, w)
    steps, dilations = per_axis(op, "stride", stride, ndim), per_axis(op, "dilation", dilation, ndim)
    groups = as_integer(op, "groups", groups)
    if groups < 1 or x[1] % groups or w[0] % groups or x[1] // groups != w[1]:
        raise ShapeError(f"{op}: {x[1]} input and {w[0]} output channels in {groups} groups do not fit a weight for "
                         f"{w[1]} channels a group. Channels must divide by groups.")
    pairs = padding_pairs(op, padding, x[2:], w[2:], steps, dilations)
    window = window_of(steps, pairs, dilations, groups)
    if min(w[2:]) < 1 or min(window.output_sizes(x[2:], w[2:])) < 1:
        raise ShapeError(f"{op}: kernel {w[2:]} with dilation {dilations} is larger than the input {x[2:]} padded by "
                         f"{pairs}. Pad more, or use a smaller kernel.")
    check_extent(op, (x[0], w[0], *window.output_sizes(x[2:], w[2:])), steps, dilations,
                 [size + low + high for size, (low, high) in zip(x[2:], pairs)])
    return window


_remembered_window = lru_cache(1024)(_window)


def _check_ndim(op: str, ndim: int, x: Shape, w: Shape) -> None:
    if len(x) != ndim + 2 or len(w) != ndim + 2:
        raise ShapeError(f"{op}: input {x} and weight {w} need {ndim + 2} axes each. Add axes of size 1.")


def transposed_window(op: str, ndim: int, x: Shape, w: Shape, stride: Size, padding: Padding, output_padding: Size,
                      dilation: Size, groups: int) -> tuple[Window, Shape, tuple[int, ...]]:
    """The convolution whose transpose is wanted, the spatial sizes of its input, and cells to add behind each axis."""
    _check_ndim(op, ndim, x, w)
    steps, dilations = per_axis(op, "stride", stride, ndim), per_axis(op, "dilation", dilation, ndim)
    extra = per_axis(op, "output_padding", output_padding, ndim, 0)
    groups = as_integer(op, "groups", groups)
    if groups < 1 or x[1] % groups or x[1] != w[0]:
        raise ShapeError(f"{op}: {x[1]} input channels in {groups} groups do not fit a weight of shape {w}. Its first "
                         "size must be the input's channels, which must divide by groups.")
    if isinstance(padding, str):
        raise ShapeError(f"{op}: padding {padding!r} has no meaning here. Use numbers.")
    pairs = padding_pairs(op, padding, x[2:], w[2:], steps, dilations)
    if any(more >= max(step, spread) for more, step, spread in zip(extra, steps, dilations)):
        raise ShapeError(f"{op}: output_padding {extra} is not below stride {steps} or dilation {dilations}. The "
                         f"output has {TRANSPOSED} cells. Use less.")
    # What output_padding asks for is first what high padding took away; only beyond that there is nothing but zeros.
    reach = [(low, max(high - more, 0)) for (low, high), more in zip(pairs, extra)]
    sizes = transposed_sizes(x[2:], w[2:], steps, reach, dilations)
    if min(w[2:]) < 1 or min(sizes) < 0:
        raise ShapeError(f"{op}: padding {pairs} leaves {sizes} cells of an input {x[2:]} and a kernel {w[2:]}. The "
                         f"output has {TRANSPOSED} cells. Pad less.")
    check_extent(op, (x[0], w[1] * groups, *[size + more for size, more in zip(sizes, extra)]), steps, dilations,
                 [low + high for low, high in reach])
    return (window_of(steps, reach, dilations, groups), sizes,
            tuple([max(more - high, 0) for (_, high), more in zip(pairs, extra)]))


def transposed_sizes(sizes: Shape, kernel: Shape, stride: Shape, pairs: Sequence[tuple[int, int]],
                     dilation: Shape) -> Shape:
    """The cells of a transposed convolution's result along each axis, without output_padding."""
    return tuple([(size - 1) * step - low - high + spread * (taps - 1) + 1
                  for size, taps, step, (low, high), spread in zip(sizes, kernel, stride, pairs, dilation)])


def output_padding_for(op: str, wanted: Any, x: Shape, w: Shape, stride: Size, padding: Padding,
                       dilation: Size) -> tuple[int, ...]:
    """The output_padding that gives a transposed convolution's result the wanted spatial sizes."""
    ndim = len(x) - 2
    steps, dilations = per_axis(op, "stride", stride, ndim), per_axis(op, "dilation", dilation, ndim)
    pairs = padding_pairs(op, padding, x[2:], w[2:], steps, dilations)
    given = tuple([as_integer(op, "output_size", size) for size in
                   (wanted if isinstance(wanted, (tuple, list)) else (wanted,) * ndim)])
    given = given[len(given) - ndim:]
    least = transposed_sizes(x[2:], w[2:], steps, pairs, dilations)
    if len(given) != ndim or any(not 0 <= size - low < max(step, spread) for size, low, step, spread
                                 in zip(given, least, steps, dilations)):
        most = tuple([low + max(step, spread) - 1 for low, step, spread in zip(least, steps, dilations)])
        raise ShapeError(f"{op}: output_size {wanted!r} cannot come of an input {x[2:]}. The output has {TRANSPOSED} "
                         f"cells: use {least} to {most}.")
    return tuple([size - low for size, low in zip(given, least)])


# ----------------------------------------------------------------------------------------------- pooling
@dataclass(frozen=True)
class Sliding:
    """Windows along one axis at equal steps: window i reads cells i * stride - low + dilation * tap that exist."""

    size: int
    taps: int
    stride: int
    low: int
    high: int                   # counted by averages that include padding; what lies beyond it never is
    dilation: int
    results: int

    @cached_property
    def hashed(self) -> int:
        """The hash: windows are a key of every call."""
        return hash((self.size, self.taps, self.stride, self.low, self.high, self.dilation, self.results))

    def __hash__(self) -> int:
        return self.hashed

    @property
    def starts(self) -> np.ndarray:
        """The first cell of each window that exists."""
        first = np.arange(self.results, dtype=np.int64) * self.stride - self.low
        return first + np.maximum(0, -(first // self.dilation)) * self.dilation

    @property
    def counts(self) -> np.ndarray:
        """How many cells of each window exist."""
        last = np.arange(self.results, dtype=np.int64) * self.stride - self.low + (self.taps - 1) * self.dilation
        last = last - np.maximum(0, -((self.size - 1 - last) // self.dilation)) * self.dilation
        return (last - self.starts) // self.dilation + 1

    @property
    def cells(self) -> np.ndarray:
        """How many cells of each window exist or are padding; for averages, which have no dilation."""
        first = np.arange(self.results, dtype=np.int64) * self.stride - self.low
        return np.minimum(first + self.taps, self.size + self.high) - first

    @property
    def is_whole(self) -> bool:
        """Is there one window, of all cells and nothing else?"""
        return (self.results, self.taps, self.low, self.dilation) == (1, self.size, 0, 1)


@dataclass(frozen=True)
class Adaptive:
    """So many windows along one axis, which together reach all cells: i reads size * i // results and on."""

    size: int
    results: int
    dilation = 1
    is_whole = False

    @property
    def starts(self) -> np.ndarray:
        """The first cell of each window."""
        return np.arange(self.results, dtype=np.int64) * self.size // self.results

    @property
    def counts(self) -> np.ndarray:
        """How many cells each window has."""
        stops = -(-np.arange(1, self.results + 1, dtype=np.int64) * self.size // self.results)
        return stops - self.starts

    @property
    def cells(self) -> np.ndarray:
        """As `counts`."""
        return self.counts


Axis = Sliding | Adaptive


def pool_axes(op: str, sizes: Shape, kernel: Size, stride: Size | None, padding: Size, dilation: Size,
              ceil_mode: bool) -> tuple[Axis, ...]:
    """The windows of a pool over spatial sizes, after checking that they fit; those that start past the input are
    dropped."""
    ndim = len(sizes)
    taps = per_axis(op, "kernel_size", kernel, ndim)
    empty = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    steps = taps if empty else per_axis(op, "stride", stride, ndim)  # type: ignore[arg-type]
    pads, spreads = per_axis(op, "padding", padding, ndim, 0), per_axis(op, "dilation", dilation, ndim)
    spans = [spread * (count - 1) + 1 for count, spread in zip(taps, spreads)]
    if any(pad > span // 2 for pad, span in zip(pads, spans)):
        raise ShapeError(f"{op}: padding {pads} is more than half of a window {tuple(spans)} wide. Pad less.")
    results = tuple([pooled_size(size, span, step, pad, ceil_mode)
                     for size, span, step, pad in zip(sizes, spans, steps, pads)])
    if min(results) < 1:
        raise ShapeError(f"{op}: windows {tuple(spans)} wide are larger than the input {sizes} padded by {pads}. "
                         "Use a smaller kernel_size.")
    check_extent(op, results, steps, spreads, [pad + span for pad, span in zip(pads, spans)])
    axes = tuple(map(Sliding, sizes, taps, steps, pads, pads, spreads, results))
    if max(spreads) > 1 and min(axis.counts.min() for axis in axes) < 1:
        raise ShapeError(f"{op}: a window with dilation {spreads} reads nothing of the input {sizes} padded by {pads}. "
                         "Use less dilation or padding.")
    return axes


def pooled_size(size: int, span: int, stride: int, padding: int, ceil_mode: bool) -> int:
    """How many windows fit, 0 or less where none does."""
    room = size + 2 * padding - span
    results = (room + (stride - 1) * bool(ceil_mode)) // stride + 1
    return results - (ceil_mode and (results - 1) * stride >= size + padding)


def adaptive_axes(op: str, sizes: Shape, output_size: Any) -> tuple[Axis, ...]:
    """The windows of an adaptive pool; None keeps an axis as it is."""
    ndim = len(sizes)
    given = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * ndim
    if len(given) != ndim:
        raise ShapeError(f"{op}: output_size {output_size!r} for {ndim} spatial axes. Use one number or {ndim}.")
    results = [size if wanted is None else as_integer(op, "output_size", wanted)
               for size, wanted in zip(sizes, given)]
    if min(results) < 1 or 0 in sizes:
        raise ShapeError(f"{op}: an input {sizes} cannot give {tuple(results)} results. Both need cells.")
    check_extent(op, results)
    return tuple([Sliding(size, size // count, size // count, 0, 0, 1, count) if size % count == 0
                  else Adaptive(size, count) for size, count in zip(sizes, results)])


def reads(axes: Sequence[Axis]) -> np.ndarray:
    """(results, taps): which cell of the flat input each tap of each window reads; where a window has fewer taps, the
    number of cells, behind those it reads."""
    found, total = np.zeros((1, 1), np.int64), prod(axis.size for axis in axes)
    exists = np.ones((1, 1), bool)
    for axis in axes:
        most = int(axis.counts.max())
        taps = np.arange(most)
        here = axis.starts[:, None] + taps * axis.dilation
        found = (found[:, None, :, None] * axis.size + here[None, :, None, :]).reshape(len(found) * axis.results, -1)
        valid = taps < axis.counts[:, None]
        exists = (exists[:, None, :, None] & valid[None, :, None, :]).reshape(found.shape)
    found = np.where(exists, found, total)
    return np.take_along_axis(found, np.argsort(~exists, axis=1, kind="stable"), 1)


def cells(axes: Sequence[Axis], include_padding: bool) -> np.ndarray:
    """How many cells an average over each window is taken of, in the shape of the result."""
    found = np.ones((), np.int64)
    for axis in axes:
        found = found[..., None] * (axis.cells if include_padding else axis.counts)
    return found


def merged(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """The same windows over fewer axes, where all of an axis is read whole or stays apart from what lies around it."""
    found: list[Axis] = []
    for axis in axes:
        before = found[-1] if found else None
        if isinstance(axis, Sliding) and axis.is_whole and isinstance(before, Sliding) and before.dilation == 1:
            size = axis.size
            found[-1] = Sliding(before.size * size, before.taps * size, before.stride * size, before.low * size,
                                before.high * size, 1, before.results)
        else:
            found.append(axis)
    return tuple(found)

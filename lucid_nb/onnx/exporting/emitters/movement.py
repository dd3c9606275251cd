"""Views, and what joins, pads, repeats, casts and takes."""

from typing import Any

import numpy as np

from ....storage import Broadcast, Diagonal, Permute, Reshape, Slice
from ..known import emits
from ..recording import Value
from ..sizes import is_fixed
from ..writer import Ref, Writer, refused

END = np.iinfo(np.int64).max


@emits("Reshape")
def _reshape_view(w: Writer, out: Value, x: Ref, step: Reshape) -> str:
    return w.reshape(x, out.shape)


@emits("reshape", "copied_reshape")
def _reshape(w: Writer, out: Value, x: Ref, shape: Any) -> str:
    return w.reshape(x, out.shape)


@emits("Permute")
def _permute_view(w: Writer, out: Value, x: Ref, step: Permute) -> str:
    return w.transpose(x, step.axes)


@emits("permute")
def _permute(w: Writer, out: Value, x: Ref, axes: Any) -> str:
    return w.transpose(x, axes)


@emits("conjugate_transpose")
def _turn(w: Writer, out: Value, x: Ref) -> str:
    return w.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


@emits("Broadcast")
def _broadcast_view(w: Writer, out: Value, x: Ref, step: Broadcast) -> str:
    return w.node("Expand", x, w.shape(out.shape))


@emits("broadcast_to")
def _broadcast(w: Writer, out: Value, x: Ref, shape: Any) -> str:
    return w.node("Expand", x, w.shape(out.shape))


@emits("copy", "to_device", "real", "conjugate", "conjugated", "once_differentiable", "start")
def _same(w: Writer, out: Value, x: Ref, **params: Any) -> str:
    return w.node("Identity", x)


@emits("cast")
def _cast(w: Writer, out: Value, x: Ref, dtype: Any) -> str:
    return w.cast(x.name, x.dtype, out.dtype)


@emits("zeros_like")
def _zeros_like(w: Writer, out: Value, x: Ref, **params: Any) -> str:
    return w.node("Expand", w.constant(np.zeros((), out.dtype)), w.node("Shape", x))


@emits("Slice")
def _slice(w: Writer, out: Value, x: Ref, step: Slice) -> str:
    return cut(w, x, step.index)


def cut(w: Writer, x: Ref, parts: tuple) -> str:
    """Slices as one node, then axes that an integer took, or None brought."""
    index = _whole(parts, x.ndim)
    cuts, gone = [], []
    for axis, part in enumerate([part for part in index if part is not None]):
        if isinstance(part, slice):
            if part != slice(None):
                cuts.append((axis, *_bounds(part)))
        else:
            stop = END if part == -1 else part + 1
            cuts.append((axis, part, stop, 1))
            gone.append(axis)
    found = x.name
    if cuts:
        axes, starts, stops, steps = zip(*cuts)
        found = w.node("Slice", found, w.shape(starts), w.shape(stops), w.integers(axes), w.integers(steps))
    found = w.node("Squeeze", found, w.integers(gone)) if gone else found
    places = [place for place, part in enumerate([p for p in index if not isinstance(p, (int, np.integer))])
              if part is None]
    return w.node("Unsqueeze", found, w.integers(places)) if places else found


def _whole(index: tuple, ndim: int) -> list[Any]:
    """An index without an ellipsis, one part for each axis."""
    taken = sum(1 for part in index if part is not None and part is not Ellipsis)
    rest = [slice(None)] * (ndim - taken)
    parts = list(index)
    for place, part in enumerate(parts):
        if part is Ellipsis:
            return [*parts[:place], *rest, *parts[place + 1:]]
    return [*parts, *rest]


def _bounds(part: slice) -> tuple[int, int, int]:
    step = 1 if part.step is None else part.step
    if step > 0:
        return 0 if part.start is None else part.start, END if part.stop is None else part.stop, step
    return END if part.start is None else part.start, -END if part.stop is None else part.stop, step


@emits("Diagonal")
def _diagonal(w: Writer, out: Value, x: Ref, step: Diagonal) -> str:
    """The elements of the last axis, at their places in the flat last two."""
    rows, cols = x.shape[-2:]
    flat = w.reshape(x, (*x.shape[:-2], rows * cols))
    first = step.offset if step.offset >= 0 else -step.offset * cols
    return w.node("Gather", flat, w.integers(range(first, first + out.shape[-1] * (cols + 1), cols + 1)),
                  axis=x.ndim - 2)


@emits("concatenate")
def _concatenate(w: Writer, out: Value, *xs: Ref, axis: int) -> str:
    return w.node("Concat", *[w.cast(x.name, x.dtype, out.dtype) for x in xs], axis=axis)


def parts_of(w: Writer, x: str | Ref, sizes: list[int], axis: int) -> list[str]:
    """Parts along an axis."""
    return w.nodes_of("Split", [x, w.integers(sizes)], len(sizes), axis=axis)


@emits("parts")
def _parts(w: Writer, out: Value, x: Ref, count: int) -> list[str]:
    return parts_of(w, x, [x.shape[-1] // count] * count, x.ndim - 1)


@emits("repeat_by")
def _repeat(w: Writer, out: Value, x: Ref, counts: Any, axis: int) -> str:
    if not is_fixed(x.shape[axis]):
        raise refused("repeat", "repeats elements of a dynamic axis. Let that axis be fixed.")
    places = np.repeat(np.arange(x.shape[axis]), np.asarray(counts))
    return w.node("Gather", x, w.integers(places.tolist()), axis=axis)


@emits("pad_constant")
def _pad(w: Writer, out: Value, x: Ref, pairs: Any, value: Any) -> str:
    sizes = [low for low, _ in pairs] + [high for _, high in pairs]
    return w.node("Pad", x, w.shape(sizes), w.constant(np.asarray(value, x.dtype).reshape(())), mode="constant")


MODES = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}


@emits("pad_by_itself")
def _pad_by_itself(w: Writer, out: Value, x: Ref, pairs: Any, mode: str) -> str:
    if mode not in MODES or (mode == "wrap" and w.opset < 19):
        raise refused("pad", f"has mode {mode!r}, which opset {w.opset} has not. Use reflect or edge.")
    return w.node("Pad", x, w.integers([low for low, _ in pairs] + [high for _, high in pairs]), mode=MODES[mode])


@emits("resample")
def _resample(w: Writer, out: Value, x: Ref, axis: int, taps: Any) -> str:
    """A product with the matrix of weights."""
    if not is_fixed(x.shape[axis]):
        raise refused("interpolate", "resizes a dynamic axis. Let that axis be fixed.")
    matrix = w.constant(taps.dense.astype(x.dtype))
    order = [*range(axis), *range(axis + 1, x.ndim), axis]
    back = [*range(axis), x.ndim - 1, *range(axis, x.ndim - 1)]
    turned = x.name if order == [*range(x.ndim)] else w.transpose(x, order)
    found = w.node("MatMul", turned, w.node("Transpose", matrix, perm=[1, 0]), stem="resample")
    return found if order == [*range(x.ndim)] else w.transpose(found, back)

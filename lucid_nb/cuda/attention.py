"""Attention of heads, forward in one launch and backward in two; nothing has the size of all scores.

Operands are (batch, heads, rows, features) with any strides. Only where the gradient of a mask is wanted are the
gradients of all scores kept, and summed over what the mask is the same for.
"""

from typing import Any, NamedTuple

import numpy as np

from ..shapes import Shape
from . import array as geometry
from . import runtime
from .array import DeviceArray, broadcast_strides
from .attention_kernels import attend_kernel, keys_kernel, queries_kernel
from .attention_tiles import GIVEN, tile_of
from .copy import cast, full
from .reduce import reduce
from .runtime import ceil_div
from .scalars import compute

WORDS = 4294967296.0             # that there are
Drop = tuple[int, int, int, int] | None


class Call(NamedTuple):
    """What all kernels of one attention are given."""

    q: DeviceArray
    k: DeviceArray
    v: DeviceArray
    mask: DeviceArray | None
    causal: bool
    scale: float
    drop: Drop

    @property
    def number(self) -> np.dtype:
        """What is computed in."""
        return compute(self.q.element)

    def facts(self, units: int, *arrays: DeviceArray) -> tuple[int, ...]:
        """What kernels want to know: sizes, and the places of arrays; those of operands come first."""
        (_, heads, length, depth), (_, groups, reach, _) = self.q.shape, self.k.shape
        found = [units, heads, heads // groups, length, reach, depth, self.v.shape[3], int(self.causal)]
        for place in (*map(_place, (self.q, self.k, self.v)), self.bias()[1], *map(_place, arrays)):
            found += place
        return (*found, *[0] * (GIVEN - len(found)))

    def numbers(self) -> tuple[Any, ...]:
        """The scale, what decides which weights are dropped, and what the others are multiplied with."""
        threshold, *words = self.drop or (0, 0, 0, 0)
        kept = WORDS / threshold if threshold else 0.0
        number = self.number.type
        return number(self.scale), tuple(map(np.uint64, (threshold, *words))), number(kept)

    def bias(self) -> tuple[Any, Shape]:
        """The mask's memory and place, or any memory."""
        if self.mask is None:
            return self.q.memory, (0,) * 5
        scores = *self.q.shape[:3], self.k.shape[2]
        return self.mask.memory, (self.mask.offset, *broadcast_strides(self.mask, scores))

    @property
    def options(self) -> tuple[bool, bool]:
        """Is there a mask, and are weights dropped?"""
        return self.mask is not None, self.drop is not None


def _place(raw: DeviceArray) -> Shape:
    return (raw.offset, *raw.strides)


def _like(raw: DeviceArray, shape: Shape) -> DeviceArray:
    """A new array whose first three axes follow each other in memory as those of `raw` do."""
    order = sorted(range(3), key=lambda axis: -(raw.strides[axis] or raw.memory.size))      # repeated axes stay outside
    made = geometry.empty((*[shape[axis] for axis in order], shape[3]), raw.element)
    return geometry.permute(made, (*[order.index(axis) for axis in range(3)], 3))


def attention(q: DeviceArray, k: DeviceArray, v: DeviceArray, mask: DeviceArray | None, causal: bool, scale: float,
              drop: Drop = None) -> tuple[DeviceArray, DeviceArray]:
    """softmax(q k^T * scale + mask) v; for each query the maximum of its scores and 1 / the sum of their exponentials.

    mask: four axes that broadcast to (batch, heads, queries, keys). Causal: query i looks at keys up to i. A query that
    looks at nothing gives zeros, and 0 twice. `drop`: weights whose random word is not below the first
    number are dropped, the others divided by the share that is kept; two words of a key and a stream follow.
    """
    call = Call(q, k, v, mask, causal, scale, drop)
    shape = (*q.shape[:3], v.shape[3])
    if 0 in (*shape, k.shape[2]):
        return full(shape, 0, q.element), full((*shape[:3], 2), 0, call.number)
    out, sums = _like(q, shape), geometry.empty((*shape[:3], 2), call.number)
    tile = tile_of(call.number, shape[3])
    units = shape[0] * shape[1] * ceil_div(shape[2], tile.lines) * ceil_div(shape[3], tile.width)
    runtime.launch(attend_kernel(q.element, tile, *call.options), runtime.grid(units), tile.threads, q.memory, k.memory,
                   v.memory, call.bias()[0], out.memory, sums.memory, call.facts(units, out), *call.numbers())
    return out, sums


def attention_grad(q: DeviceArray, k: DeviceArray, v: DeviceArray, mask: DeviceArray | None, out: DeviceArray,
                   sums: DeviceArray, g: DeviceArray, causal: bool, scale: float, of_mask: bool,
                   drop: Drop = None) -> tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray | None]:
    """The gradients of q, k, v, and of the mask where that is wanted; `out` and `sums` are what `attention` gave."""
    call = Call(q, k, v, mask, causal, scale, drop)
    of_mask = of_mask and mask is not None
    if 0 in (*out.shape, k.shape[2]):
        wanted = (q, k, v, mask if of_mask else None)
        dq, dk, dv, dmask = (None if raw is None else full(raw.shape, 0, raw.element) for raw in wanted)
        return dq, dk, dv, dmask  # type: ignore[return-value]
    deltas = geometry.empty(q.shape[:3], call.number)
    dq, steep = _of_queries(call, out, sums, g, deltas, of_mask)
    dk, dv = _of_keys(call, sums, g, deltas)
    return dq, dk, dv, _of_mask(mask, steep) if mask is not None and of_mask else None


def _of_queries(call: Call, out: DeviceArray, sums: DeviceArray, g: DeviceArray, deltas: DeviceArray,
                of_mask: bool) -> tuple[DeviceArray, DeviceArray]:
    """The gradient of q, and those of all scores before the scale, where they are wanted."""
    q, k, v, mask = call[:4]
    batch, heads, length, depth = q.shape
    dq, tile = _like(q, q.shape), tile_of(call.number, depth)
    steep = _gradients_of_scores(call) if of_mask else deltas
    units = batch * heads * ceil_div(length, tile.lines) * max(1, ceil_div(depth, tile.width))
    kernel = queries_kernel(q.element, tile, *call.options, of_mask)
    runtime.launch(kernel, runtime.grid(units), tile.threads, q.memory, k.memory, v.memory, call.bias()[0], out.memory,
                   g.memory, sums.memory, deltas.memory, dq.memory, steep.memory, call.facts(units, out, g, dq),
                   *call.numbers())
    return dq, steep


def _of_keys(call: Call, sums: DeviceArray, g: DeviceArray, deltas: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
    """The gradients of k and v."""
    q, k, v, _ = call[:4]
    batch, groups, reach, depth = k.shape
    columns = max(depth, v.shape[3])
    dk, dv, tile = _like(k, k.shape), _like(v, v.shape), tile_of(call.number, columns)
    units = batch * groups * ceil_div(reach, tile.lines) * ceil_div(columns, tile.width)
    runtime.launch(keys_kernel(q.element, tile, *call.options), runtime.grid(units), tile.threads, q.memory, k.memory,
                   v.memory, call.bias()[0], g.memory, sums.memory, deltas.memory, dk.memory, dv.memory,
                   call.facts(units, g, g, dk, dv), *call.numbers())
    return dk, dv


def _gradients_of_scores(call: Call) -> DeviceArray:
    """Memory for those of all scores; at what causal attention does not look they are 0."""
    shape = (*call.q.shape[:3], call.k.shape[2])
    return full(shape, 0, call.number) if call.causal else geometry.empty(shape, call.number)


def _of_mask(mask: DeviceArray, steep: DeviceArray) -> DeviceArray:
    """The gradient of a mask, from those of scores."""
    axes = tuple([axis for axis in range(4) if mask.shape[axis] == 1 != steep.shape[axis]])
    if axes:
        return reduce("sum", steep, axes, True, mask.element)
    return steep if steep.element == mask.element else cast(steep, mask.element)

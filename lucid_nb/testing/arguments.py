"""Strategies of hypothesis for what functions take beside arrays: axes, indices, the geometry of convolutions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..shapes import Shape
from .arrays import strategies


def axes(ndim: int, *, none: bool = True, several: bool = True) -> Any:
    """A hypothesis strategy of `axis` arguments for an array of so many axes, counted from either end.

    One axis, with `several` also tuples of different ones (the empty one among them), with `none` also None.
    """
    st = strategies()
    found = []
    if none:
        found.append(st.none())
    if ndim:
        found.append(st.integers(-ndim, ndim - 1))
    if several:
        signs = st.lists(st.booleans(), min_size=ndim, max_size=ndim)
        chosen = st.lists(st.sampled_from(range(ndim)), unique=True) if ndim else st.just([])
        found.append(st.builds(lambda numbers, signs: tuple(number - ndim * signs[number] for number in numbers),
                               chosen, signs))
    return st.one_of(found)


def indices(shape: Shape, *, arrays: bool = True) -> Any:
    """A hypothesis strategy of indices that NumPy takes for an array of this shape.

    Integers from either end, slices with any step, Ellipsis and None; with `arrays` also lists and arrays of integers
    and masks, which select. Fewer parts than axes among them.
    """
    st = strategies()

    @st.composite
    def drawn(draw: Callable) -> Any:
        parts = [draw(_part(st, size, arrays)) for size in shape[:draw(st.integers(0, len(shape)))]]
        if draw(st.booleans()):
            rest = shape[len(parts):]
            kept = draw(st.integers(0, len(rest)))
            parts += [Ellipsis, *[draw(_part(st, size, arrays)) for size in rest[len(rest) - kept:]]]
        lengths = {len(part) if part.dtype.kind == "i" else int(part.sum()) for part in parts
                   if isinstance(part, np.ndarray)} - {1}
        if len(lengths) > 1:                           # arrays of different lengths do not go together
            parts = [slice(None) if isinstance(part, np.ndarray) else part for part in parts]
        if draw(st.integers(0, 3)) == 0:
            parts.insert(draw(st.integers(0, len(parts))), None)
        return parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)
    return drawn()


def _part(st: Any, size: int, arrays: bool) -> Any:
    """An index for one axis."""
    bounds = st.none() | st.integers(-size - 1, size + 1)
    found = [st.builds(slice, bounds, bounds, st.none() | st.sampled_from([1, 2, 3, -1, -2]))]
    if size:
        found.append(st.integers(-size, size - 1))
    if size and arrays:
        found.append(st.lists(st.integers(-size, size - 1), min_size=1, max_size=3).map(np.array))
        found.append(st.lists(st.booleans(), min_size=size, max_size=size).map(np.array))
    return st.one_of(found)


@dataclass(frozen=True)
class ConvGeometry:
    """What a convolution is called with.

    `x`: the shape of the images, (batch, channels, sizes ...); `weight`: that of the filters, (filters, channels /
    groups, taps ...).
    """

    x: Shape
    weight: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    groups: int

    @property
    def keywords(self) -> dict[str, Any]:
        """For `lucid_nb.nn.functional.conv1d` to `conv3d`, and PyTorch's."""
        return {"stride": self.stride, "padding": self.padding, "dilation": self.dilation, "groups": self.groups}

    @property
    def out(self) -> Shape:
        """The shape of the result."""
        reach = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.weight[2:])]
        sizes = [(size + 2 * low - r) // s + 1
                 for size, low, r, s in zip(self.x[2:], self.padding, reach, self.stride)]
        return (self.x[0], self.weight[0], *sizes)


def conv_geometry(dims: int | None = None, *, max_side: int = 6, max_channels: int = 3) -> Any:
    """A hypothesis strategy of `ConvGeometry`: 1 to 3 dimensions unless told, and one cell of result at least.

    Strides and dilations up to 3, taps up to 3, padding up to 2, one to three groups, batches of 0 to 2.
    """
    st = strategies()

    @st.composite
    def drawn(draw: Callable) -> ConvGeometry:
        count = draw(st.integers(1, 3)) if dims is None else dims
        each = lambda low, high: tuple(draw(st.lists(st.integers(low, high), min_size=count, max_size=count)))
        taps, stride, dilation, padding, more = each(1, 3), each(1, 3), each(1, 3), each(0, 2), each(0, max_side - 1)
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, taps)]
        sizes = [max(1, r - 2 * p) + extra for r, p, extra in zip(reach, padding, more)]
        groups = draw(st.integers(1, 3))
        channels, filters = draw(st.integers(1, max_channels)), draw(st.integers(1, max_channels))
        return ConvGeometry((draw(st.integers(0, 2)), channels * groups, *sizes), (filters * groups, channels, *taps),
                            stride, padding, dilation, groups)
    return drawn()

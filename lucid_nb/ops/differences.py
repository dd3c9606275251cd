"""Differences of neighbours, derivatives by them, and areas under samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..array import Tensor
from ..errors import DTypeError, ShapeError
from ..register import public, short
from .arithmetic import subtract
from .hosted import check_one_device
from .logic import not_equal
from .movement import as_tensor, astype, broadcast_to, concat, reshape
from .places import pair
from .reduction import sum as total

SomeAxes = int | Sequence[int] | None


def part(x: Tensor, axis: int, start: int | None, stop: int | None) -> Tensor:
    """A stretch of an axis, as a view."""
    return x[(slice(None),) * axis + (slice(start, stop),)]


def _joined(x: Tensor, prepend: Any, append: Any, axis: int) -> Tensor:
    """x with what belongs before and after it; a number fills one place along the axis."""
    pieces = []
    one = tuple(1 if a == axis else size for a, size in enumerate(x.shape))
    for piece in (prepend, x, append):
        if piece is not None:
            found = pair("diff", x, piece)[1]
            pieces.append(broadcast_to(found, one) if found.ndim == 0 else found)
    return concat(pieces, axis=axis) if len(pieces) > 1 else x


@public()
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Each element less the one before along an axis, n times; of bools, whether they differ.

    `prepend`, `append`: what to put before and after first; a number stands for one place.

    >>> import lucid_nb as lnb
    >>> lnb.diff(lnb.tensor([1, 4, 9]), prepend=0)
    tensor([1, 3, 5])
    """
    if n == 1 and prepend is append is None and (raw := short.small(a)) is not None and raw.ndim == 1 and (
            raw.dtype.kind in "iuf"):
        return a[1:] - a[:-1]
    a = as_tensor("diff", a)
    n = shapes.as_integer("diff", "n", n)
    if n < 0:
        raise ShapeError(f"diff: n is {n}. Use 0 or more.")
    if n == 0:
        return a
    axis = shapes.normalize_axis("diff", axis, a.ndim)
    a = _joined(a, prepend, append, axis)
    step = not_equal if a.dtype.kind == "b" else subtract
    for _ in range(n):
        a = step(part(a, axis, 1, None), part(a, axis, None, -1))
    return a


@public(method=False)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of the flattened array's neighbours, between what is given for the begin and the end.

    >>> import lucid_nb as lnb
    >>> lnb.ediff1d(lnb.tensor([1, 2, 4]), to_begin=-9)
    tensor([-9,  1,  2])
    """
    ary = reshape(as_tensor("ediff1d", ary), -1)
    if ary.dtype.kind == "b":
        raise DTypeError("ediff1d: has no meaning for bool. Use .astype('int8').")
    pieces = [subtract(part(ary, 0, 1, None), part(ary, 0, None, -1))]
    for what, piece in (("to_end", to_end), ("to_begin", to_begin)):
        if piece is not None:
            found = reshape(pair("ediff1d", ary, piece)[1], -1)
            if not np.can_cast(found.dtype, ary.dtype, "same_kind"):
                raise DTypeError(f"ediff1d: {what} is {found.dtype}, the array {ary.dtype}. Convert one of them.")
            pieces.insert(0 if what == "to_begin" else 1, astype(found, ary.dtype, copy=False))
    return concat(pieces) if len(pieces) > 1 else pieces[0]


@public()
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    """The area under samples y along an axis by the trapezoidal rule: at points x, or at steps of dx.

    >>> import lucid_nb as lnb
    >>> lnb.trapezoid(lnb.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    y = as_tensor("trapezoid", y)
    axis = shapes.normalize_axis("trapezoid", axis, y.ndim)
    step = dx
    if x is not None:
        x = pair("trapezoid", y, x)[1]
        step = diff(x, axis=axis if x.ndim > 1 else -1)
        if x.ndim == 1:
            step = reshape(step, tuple(step.size if a == axis else 1 for a in range(y.ndim)))
    return total(step * (part(y, axis, 1, None) + part(y, axis, None, -1)) / 2.0, axis)


# ---------------------------------------------------------------------------------------------- derivatives
def _spacings(spacing: tuple, axes: shapes.Shape, x: Tensor) -> list[Any]:
    """For each axis a number, or the differences of its coordinates; equal ones become a number."""
    if len(spacing) not in (0, 1, len(axes)) or (len(spacing) == 1 < len(axes) and np.ndim(spacing[0])):
        raise DTypeError(f"gradient: {len(spacing)} spacings for {len(axes)} axes. Give none, one number, or one each.")
    found: list[Any] = []
    for given, axis in zip(spacing * len(axes) if len(spacing) == 1 else spacing or (1.0,) * len(axes), axes):
        host = np.asarray(given.to_host() if isinstance(given, Tensor) else given)
        if host.ndim == 0:
            found.append(float(host))
            continue
        if host.ndim != 1 or host.size != x.shape[axis]:
            raise ShapeError(f"gradient: coordinates of shape {host.shape} for axis {axis} of {x.shape[axis]} "
                             "elements. Give one each.")
        if host.size < 2:
            raise ShapeError(f"gradient: coordinates of shape {host.shape} for axis {axis}. Give 2 or more.")
        steps = np.diff(host.astype(np.float64) if host.dtype.kind in "iub" else host)
        found.append(float(steps[0]) if (steps == steps[0]).all() else steps)
    return found


def _weights(place: str, first: Any, second: Any) -> tuple[Any, Any, Any]:
    """What three neighbours weigh in the derivative at one of them, where gaps are `first` and `second`.

    The derivative of the parabola through them (Fornberg, Mathematics of Computation 51, 1988).
    """
    both = first + second
    if place == "left":
        return -(first + both) / (first * both), both / (first * second), -first / (second * both)
    if place == "right":
        return second / (first * both), -both / (first * second), (second + both) / (second * both)
    return -second / (first * both), (second - first) / (first * second), first / (second * both)


def _weighed(x: Tensor, axis: int, start: int, count: int, weights: tuple) -> Tensor:
    """The sum of three stretches of `count` elements, each one further on than the one before, times its weights."""
    shape = tuple(-1 if a == axis else 1 for a in range(x.ndim))
    table, result = backend.of(x.raw), None
    for offset, weight in enumerate(weights):
        factor = Tensor(table.from_numpy(np.asarray(weight, np.float64).astype(x.dtype).reshape(shape)))
        piece = part(x, axis, start + offset, start + offset + count) * factor
        result = piece if result is None else result + piece
    assert result is not None
    return result


def _derivative(x: Tensor, axis: int, gaps: Any, edge_order: int) -> Tensor:
    """The derivative along an axis: central inside, one-sided at the ends."""
    size, is_even = x.shape[axis], np.ndim(gaps) == 0
    first, last = (gaps, gaps) if is_even else (gaps[0], gaps[-1])
    if is_even:
        inside = (part(x, axis, 2, None) - part(x, axis, None, -2)) / (2.0 * gaps)
    else:
        inside = _weighed(x, axis, 0, size - 2, _weights("middle", gaps[:-1], gaps[1:]))
    if edge_order == 1:
        begin = (part(x, axis, 1, 2) - part(x, axis, 0, 1)) / float(first)
        end = (part(x, axis, size - 1, size) - part(x, axis, size - 2, size - 1)) / float(last)
    else:
        second, third = (gaps, gaps) if is_even else (gaps[1], gaps[-2])
        begin = _weighed(x, axis, 0, 1, _weights("left", first, second))
        end = _weighed(x, axis, size - 3, 1, _weights("right", third, last))
    return concat([begin, inside, end], axis=axis)


@public(method=False)
def gradient(f: Any, *spacing: Any, axis: SomeAxes = None, edge_order: int = 1) -> Any:
    """Derivatives of samples along each axis, central inside and one-sided at the ends; a tuple for several axes.

    `spacing`: the step, one for each axis, or the coordinates along each. `edge_order`: 1 or 2, the order of the ends.

    >>> import lucid_nb as lnb
    >>> lnb.gradient(lnb.tensor([1.0, 4.0, 9.0]))
    tensor([3., 4., 5.])
    """
    check_one_device("gradient", f, *spacing)
    f = as_tensor("gradient", f)
    axes = shapes.normalize_axes("gradient", axis if axis is None or isinstance(axis, int) else tuple(axis), f.ndim)
    if edge_order not in (1, 2):
        raise ShapeError(f"gradient: edge_order is {edge_order}. Use 1 or 2.")
    gaps = _spacings(spacing, axes, f)
    f = f if dtypes.is_inexact(f.dtype) else astype(f, dtypes.on_device(dtypes.FLOAT64, f.device))
    for a in axes:
        if f.shape[a] < edge_order + 1:
            raise ShapeError(f"gradient: {f.shape[a]} elements along axis {a}. Give {edge_order + 1} or more.")
    found = tuple([_derivative(f, a, gap, edge_order) for a, gap in zip(axes, gaps)])
    return found[0] if len(found) == 1 else found

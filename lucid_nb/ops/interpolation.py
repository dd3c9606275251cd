"""Interpolation between points, and what wraps around."""

import math
from typing import Any

import numpy as np

from .. import shapes
from ..array import Tensor
from ..errors import ShapeError, told
from ..register import functions, public
from .differences import diff, part
from .hosted import holds_anywhere
from .indexing import take
from .logic import where
from .movement import as_tensor, concat
from .rounding import remainder
from .scan import cumsum
from .sorting import argsort, searchsorted
from .widening import as_double


@public(method=False)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> Tensor:
    """The values at x of the line through the points (xp, fp), xp ascending; differentiable by all of them.

    Beyond the points: `left` and `right`, by default the first and the last value; with a `period` the points go on, in
    any order. In float64 or complex128 as NumPy's; on mlx in single precision, where nothing is double. ShapeError (a
    ValueError) where there are no points, or not as many xp as fp, each of one axis.

    >>> import lucid_nb as lnb
    >>> lnb.interp([0.5, 2.0, 9.0], [0.0, 1.0, 3.0], [0.0, 10.0, 30.0]).tolist()
    [5.0, 20.0, 30.0]
    """
    x, xp, fp = (as_double(as_tensor("interp", given)) for given in (x, xp, fp))
    if xp.ndim != 1 or fp.ndim != 1 or xp.size != fp.size:
        raise ShapeError(f"interp: points of shapes {xp.shape} and {fp.shape}. Give both one axis of one size.")
    if xp.size == 0:
        raise ShapeError("interp: there are no points. Give one at least.")
    if period is None:
        return _between(x, xp, fp, left, right)
    if period == 0:
        raise ShapeError("interp: the period is 0. Use another one, or None.")
    period = abs(period)
    xp = remainder(xp, period)
    order = argsort(xp)
    xp, fp = take(xp, order), take(fp, order)
    return _between(remainder(x, period), concat([xp[-1:] - period, xp, xp[:1] + period]),
                    concat([fp[-1:], fp, fp[:1]]), None, None)


def _between(x: Tensor, xp: Tensor, fp: Tensor, left: Any, right: Any) -> Tensor:
    """On the last point, and where there is but one, the next point is the point itself, and the slope is 0.

    NaN stays NaN; of one point it has, as in NumPy, that point's value.
    """
    last = xp.size - 1
    before = functions["clip"](searchsorted(xp.detach(), x.detach(), "right") - 1, 0, last)
    after = functions["minimum"](before + 1, last)
    start, value = take(xp, before), take(fp, before)
    stop, next_value = take(xp, after), take(fp, after)
    gap = stop - start
    with np.errstate(all="ignore"):           # of infinities, as NumPy
        slope = (next_value - value) / where(gap == 0, 1, gap)
        found = slope * (x - start) + value
        if holds_anywhere(functions["logical_not"](functions["isfinite"](fp))):
            is_nan = functions["isnan"]
            found = where(is_nan(found), slope * (x - stop) + next_value, found)
            found = where((x == start) | (is_nan(found) & (value == next_value)), value, found)
    found = where(x < xp[0], fp[0] if left is None else left, found)
    found = where(x > xp[-1], fp[-1] if right is None else right, found)
    chosen: Tensor = where(functions["isnan"](x), x if last else value, found).astype(fp.dtype, copy=False)
    return chosen


@public(method=False)
def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi) -> Tensor:
    """Phases along an axis without their jumps: steps above half a period become those that are equal but for periods.

    `discont`: steps below it stay, half a period by default. Integers stay such where `period` is one.

    >>> import lucid_nb as lnb
    >>> lnb.unwrap([0, 1, 2, -1, 0], period=4).tolist()
    [0, 1, 2, 3, 4]
    """
    x = as_tensor("unwrap", p)
    if x.ndim == 0:
        raise ShapeError(f"unwrap: {told(p)} has no axis. Give phases along one.")
    axis = shapes.normalize_axis("unwrap", axis, x.ndim)
    step = diff(x, axis=axis)
    wanted = (step + period).dtype
    is_whole = wanted.kind in "iu"
    half = period // 2 if is_whole else period / 2
    jump = remainder(step + half, period) - half
    if not is_whole or period % 2 == 0:
        jump = where((jump == -half) & (step > 0), half, jump)
    change = where(abs(step) < (period / 2 if discont is None else discont), 0, jump - step)
    first, rest = part(x, axis, None, 1), part(x, axis, 1, None)
    moved = rest + cumsum(change, axis)
    return concat([first.astype(wanted, copy=False), moved.astype(wanted, copy=False)], axis)

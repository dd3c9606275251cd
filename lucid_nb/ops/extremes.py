"""The larger and the smaller of two, and bounds."""

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ..apply import apply
from ..array import Tensor
from ..expr import Expr, Vocabulary, entry
from ..expr import m as words
from ..op import registry
from ..register import binary, public, short, ternary
from ..shapes import LARGE
from ..vocabulary import split_at_ties
from .logic import ordered
from .movement import deliver

Pair = tuple[Expr | None, Expr | None]


def _leader(comparison: str) -> Callable[[Vocabulary, Expr, Expr], Expr]:
    """Of two complex numbers the first where it has NaN, is ahead, or is equal; otherwise the second."""
    return lambda m, a, b: m.where(m.bitwise_or(a != a, ordered(comparison)(m, a, b)), a, b)


@entry(expansion=_leader("greater_equal"), cost=8)
def complex_maximum(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair:
    return split_at_ties(g, ordered("greater")(words, a, b), ordered("less")(words, a, b))


@entry(expansion=_leader("less_equal"), cost=8)
def complex_minimum(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair:
    return split_at_ties(g, ordered("less")(words, a, b), ordered("greater")(words, a, b))


def _without_nan(extreme: Callable[[Expr, Expr], Expr]) -> Callable[[Vocabulary, Expr, Expr], Expr]:
    """The formula of an extreme that NaN does not win."""
    return lambda m, a, b: m.where(b != b, a, m.where(a != a, b, extreme(a, b)))


@binary(oracle="numpy.maximum", complexes=lambda m, x, y: m.complex_maximum(x, y))
def maximum(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """The larger; NaN wins. Ties share the gradient evenly."""
    return m.maximum(x, y)


@binary(oracle="numpy.minimum", complexes=lambda m, x, y: m.complex_minimum(x, y))
def minimum(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """The smaller; NaN wins. Ties share the gradient evenly."""
    return m.minimum(x, y)


@binary(oracle="numpy.fmax", complexes=_without_nan(words.complex_maximum))
def fmax(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """The larger; what is not NaN wins. Ties share the gradient evenly."""
    return _without_nan(m.maximum)(m, x, y)


@binary(oracle="numpy.fmin", complexes=_without_nan(words.complex_minimum))
def fmin(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """The smaller; what is not NaN wins. Ties share the gradient evenly."""
    return _without_nan(m.minimum)(m, x, y)


def _complex_clip(m: Vocabulary, z: Expr, low: Expr, high: Expr) -> Expr:
    return m.complex_minimum(m.complex_maximum(z, low), high)


@ternary(oracle="numpy.clip", published=False, samples=((-3, 3), (-2, -1), (1, 2)), name="clip",
         complexes=_complex_clip)
def clip_between(m: Vocabulary, x: Expr, low: Expr, high: Expr) -> Expr:
    """x, not below low and not above high."""
    return m.clip(x, low, high)


@public(names=("clamp",))
def clip(a: Any, min: Any = None, max: Any = None, out: Tensor | None = None, *, a_min: Any = None,
         a_max: Any = None) -> Tensor:
    """Elements, not below `min` (or `a_min`) and not above `max` (or `a_max`), any of which may be None; NaN stays NaN.

    At a bound the whole gradient passes to a, outside it to the bound. Where max < min, the result is max.

    >>> import lucid_nb as lnb
    >>> lnb.clip(lnb.tensor([-2.0, 0.5, 2.0]), -1, 1)
    tensor([-1. ,  0.5,  1. ])
    """
    if (a_min is not None or a_max is not None) and (min is not None or max is not None):
        raise TypeError("clip: got bounds as a_min or a_max and as min or max. Give them one way.")
    low, high = a_min if min is None else min, a_max if max is None else max
    if low is None and high is None:
        return deliver("clip", apply(registry["copy"], (a,)), out)
    if type(low) is type(high) is float and out is None and (raw := short.plain(a)) is not None and raw.ndim and (
            compiled := clip_between.record.compiled.get((raw.dtype,) * 3)) is not None and (       # type: ignore
            type(found := (compiled.kernel if raw.size < LARGE else compiled.large)(
                raw, *[np.asarray(bound, raw.dtype) for bound in (low, high)])) is np.ndarray):
        return short.made(found)
    a = a if isinstance(a, Tensor) else apply(registry["copy"], (a,))
    bounds = [_far_bound(a, is_upper) if bound is None else _within(a, bound)
              for bound, is_upper in ((low, False), (high, True))]
    return deliver("clip", clip_between(a, *bounds), out)


def _within(x: Tensor, bound: Any) -> Any:
    """A Python integer beyond an integer dtype bounds nothing more than the dtype does."""
    if type(bound) is int and x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        return builtins.min(builtins.max(bound, int(limits.min)), int(limits.max))
    return bound


def _far_bound(x: Tensor, is_upper: bool) -> Any:
    """A bound that no element reaches."""
    if x.dtype.kind == "b":
        return is_upper
    if x.dtype.kind in "iu":
        bounds = np.iinfo(x.dtype)
        return int(bounds.max if is_upper else bounds.min)
    far = float("inf") if is_upper else float("-inf")
    return complex(far, far) if x.dtype.kind == "c" else far

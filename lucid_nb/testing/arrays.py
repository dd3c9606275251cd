"""Strategies of hypothesis for arrays: their shapes, dtypes, layouts in memory and awkward values."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from .. import shapes as shape_rules
from ..errors import BackendError

AWKWARD = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, float("inf"), float("-inf"), float("nan"), 1e-42, -1e-42, 65504.0, 1e30)
LAYOUTS = ("C", "F", "strided", "negative", "broadcast")


def strategies() -> Any:
    """hypothesis, which is loaded when it is first needed."""
    try:
        return importlib.import_module("hypothesis.strategies")
    except ImportError:
        raise BackendError("testing: hypothesis is not installed. Install it: pip install hypothesis.") from None


def shapes(*, max_dims: int = 3, max_side: int = 4, min_dims: int = 0, min_side: int = 0) -> Any:
    """A hypothesis strategy of shapes; empty and 0-d ones among them unless the minima forbid it."""
    st = strategies()
    return st.lists(st.integers(min_side, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


def broadcastable_shapes(count: int = 2, *, max_dims: int = 3, max_side: int = 4, min_side: int = 0) -> Any:
    """A hypothesis strategy of tuples of `count` shapes that broadcast together."""
    st = strategies()

    def around(common: shape_rules.Shape) -> Any:
        one = st.tuples(st.integers(0, len(common)), st.tuples(*[st.booleans() for _ in common]))
        return st.tuples(*[one.map(lambda cut: tuple(1 if flat else size for size, flat in
                                                     zip(common[cut[0]:], cut[1][cut[0]:]))) for _ in range(count)])
    return shapes(max_dims=max_dims, max_side=max_side, min_side=min_side).flatmap(around)


def arrays(dtype: Any = np.float64, shape: Any = None, *, layouts: Sequence[str] = LAYOUTS, awkward: bool = True,
           low: float = -3.0, high: float = 3.0) -> Any:
    """A hypothesis strategy of NumPy arrays, to be shared by `lucid_nb.asarray`.

    `dtype`: one, or a strategy of them; `shape`: one, or a strategy of them (`shapes()` if left out). `layouts`: some
    of "C", "F", "strided", "negative" (strides) and "broadcast" (zero strides, read-only). `awkward`: also NaN,
    infinities, signed zeros, subnormals and extremes; otherwise numbers from `low` to `high`.
    """
    st = strategies()
    as_strategy = lambda value: value if isinstance(value, st.SearchStrategy) else st.just(value)

    @st.composite
    def drawn(draw: Callable) -> np.ndarray:
        kind = dtypes.as_dtype("arrays", draw(as_strategy(dtype)))
        sizes = tuple(draw(as_strategy(shapes() if shape is None else shape)))
        count = shape_rules.product(sizes)
        values = np.array(draw(st.lists(_elements(st, kind, awkward, low, high), min_size=count, max_size=count)),
                          object if kind.kind in "iu" else np.complex128 if kind.kind == "c" else np.float64)
        with np.errstate(all="ignore"):
            return laid_out(values.astype(kind).reshape(sizes), draw(st.sampled_from(list(layouts))))
    return drawn()


def _elements(st: Any, dtype: np.dtype, awkward: bool, low: float, high: float) -> Any:
    """A strategy of Python numbers for a dtype."""
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        small = st.integers(max(int(low), bounds.min), min(int(high), bounds.max))
        return small | st.sampled_from([bounds.min, bounds.max, 0, 1]) if awkward else small
    floats = st.floats(*_within(low, high), width=32)
    floats = floats | st.sampled_from(AWKWARD) if awkward else floats
    return st.builds(complex, floats, floats) if dtype.kind == "c" else floats


def _within(low: float, high: float) -> tuple[float, float]:
    """The outermost numbers of float32 between two numbers, or at their ends: hypothesis takes no others as bounds."""
    first, last = np.float32(low), np.float32(high)
    first = np.nextafter(first, np.float32(np.inf)) if first < low else first
    last = np.nextafter(last, np.float32(-np.inf)) if last > high else last
    return float(first), float(last)


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same content in memory of a layout: one of LAYOUTS. "broadcast" repeats the first row, without memory for it.

    >>> laid_out(np.arange(3), "negative").strides
    (-8,)
    """
    if array.ndim == 0 or layout == "C":
        return array.copy()
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "broadcast":
        return np.broadcast_to(array[:1], array.shape) if array.shape[0] else array.copy()
    if layout == "negative":
        return array[..., ::-1].copy()[..., ::-1]
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]

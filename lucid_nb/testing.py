"""What tests of programs need: gradients against finite differences, comparison in units of the last place, inputs.

`check_grad` and `assert_close` need nothing but the library; the input strategies `shapes`, `broadcastable_shapes` and
`arrays` need hypothesis, which is loaded when one of them is called.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import dtypes, tape
from . import shapes as shape_rules
from .array import Tensor
from .autograd.transforms import linearize
from .backward import gradients_of
from .creation import asarray
from .errors import BackendError, DTypeError, GradError

STEP = 1e-4             # of a finite difference, relative to max(1, |x|); the error of its formula is STEP**4
RELATIVE = 1e-6         # what check_grad allows, relative to the sum of |gradient * direction|
NOISE = 1e-9            # and relative to the sum of |seed * result|: rounding of the two results, over STEP
DIRECTIONS = 2          # random directions an input

__all__ = ["arrays", "assert_close", "broadcastable_shapes", "check_grad", "shapes"]


# ----------------------------------------------------------------------------------------------- gradients
@dataclass
class _Point:
    """Where a function is differentiated: float64 or complex128 tensors, and which of them get a gradient."""

    inputs: list[Any]
    wanted: list[int]

    def moved(self, number: int, direction: np.ndarray, step: float) -> list[Any]:
        """The inputs, one of them moved."""
        inputs = list(self.inputs)
        inputs[number] = _on_device(inputs[number].to_host() + step * direction, inputs[number])
        return inputs


def check_grad(f: Callable, *inputs: Any, order: int = 2, seed: int = 0) -> None:
    """Check the gradients of `f` against central finite differences, in float64.

    `f` takes the inputs as tensors and gives a tensor or a tuple of them. Float and complex inputs are converted to
    float64 and complex128 and differentiated; integers and bools are passed as they are. Results are projected on
    random numbers and inputs moved in random directions, so every element counts; `seed` chooses the numbers. At order
    2 the same is done to the gradient as a function of the inputs and of the incoming gradient.

    Raises AssertionError that names the order, the input, the direction and the difference.

    >>> import lucid_nb as lnb
    >>> from lucid_nb.testing import check_grad
    >>> check_grad(lambda x, y: lnb.exp(x) * y, [0.5, -1.0], [2.0, 3.0])
    >>> check_grad(lambda x: x * x.detach(), [3.0], order=1)
    Traceback (most recent call last):
    ...
    AssertionError: check_grad: order 1, input 0 of shape (1,), direction 0 ([-3.]): finite differences give -2.2631,
    backward gives -1.1316, off by 1.1e+00 (allowed 1.1e-06). The gradient is wrong, or the function has a kink here.
    """
    if order < 1:
        raise GradError(f"check_grad: order {order} is no derivative. Use 1 or more.")
    random = np.random.default_rng(seed)
    point = _point_of(inputs)
    _check(f, point, random, 1, order)


def _point_of(inputs: Sequence[Any]) -> _Point:
    tensors = [_widened(x) for x in inputs]
    wanted = [i for i, x in enumerate(tensors) if dtypes.is_inexact(x.dtype)]
    if not wanted:
        raise DTypeError(f"check_grad: no input is float or complex, they are {[str(x.dtype) for x in tensors]}. "
                         "Pass integers inside the function.")
    return _Point(tensors, wanted)


def _widened(x: Any) -> Tensor:
    """A detached tensor, in double precision where it can have a gradient."""
    found = x.detach() if isinstance(x, Tensor) else asarray(x)
    if not dtypes.is_inexact(found.dtype):
        return found
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    return found.astype(wide, copy=False).detach()


def _on_device(array: np.ndarray, like: Tensor) -> Tensor:
    """A host array where another tensor lives."""
    found = Tensor(np.asarray(array))
    return found if like.device == "cpu" else found.to(like.device)


def _check(f: Callable, point: _Point, random: np.random.Generator, this: int, last: int) -> None:
    """Compare the gradients of f at a point, then do the same to the gradient itself."""
    results = _results(f, point.inputs)
    seeds = [_on_device(_numbers(random, result), result) for result in results]
    gradients = _gradient(f, len(point.inputs), point.wanted)(*point.inputs, *seeds)
    size = sum(float(np.abs(s.to_host() * r.to_host()).sum()) for s, r in zip(seeds, results))
    pushed = _pushed(f, point)
    for number, gradient in zip(point.wanted, gradients):
        _check_input(f, point, number, gradient.to_host(), seeds, size, random, this)
        _check_forward(pushed, point, number, gradient.to_host(), seeds, size, random, this)
    if this < last:
        count = len(point.inputs)
        further = _Point([*point.inputs, *seeds], [*point.wanted, *range(count, count + len(seeds))])
        _check(_gradient(f, count, point.wanted), further, random, this + 1, last)


def _check_input(f: Callable, point: _Point, number: int, gradient: np.ndarray, seeds: Sequence[Tensor], size: float,
                 random: np.random.Generator, order: int) -> None:
    """Compare the gradient of one input, along random directions."""
    x = point.inputs[number]
    scale = np.maximum(1, np.abs(x.to_host()))
    for count in range(DIRECTIONS):
        direction = _numbers(random, x)
        direction = direction / max(1e-300, np.abs(direction).max(initial=0.0)) * scale
        expected = _difference(f, point, number, direction, seeds)
        parts = (np.conj(gradient) * direction).real
        found, allowed = float(parts.sum()), RELATIVE * float(np.abs(parts).sum()) + NOISE * size
        if not abs(found - expected) <= allowed:
            raise AssertionError(
                f"check_grad: order {order}, input {number} of shape {x.shape}, direction {count} "
                f"({np.array2string(direction.ravel()[:4], precision=3)}): finite differences give {expected:.5g}, "
                f"backward gives {found:.5g}, off by {abs(found - expected):.1e} (allowed {allowed:.1e}). The gradient "
                "is wrong, or the function has a kink here.")


def _pushed(f: Callable, point: _Point) -> Callable:
    """The derivative of f at a point as a linear function of the tangents of the inputs that have one."""
    def of_wanted(*wanted: Tensor) -> tuple[Tensor, ...]:
        inputs = list(point.inputs)
        for number, x in zip(point.wanted, wanted):
            inputs[number] = x
        return tuple(_inexact(f(*inputs)))
    return linearize(of_wanted, *[point.inputs[number] for number in point.wanted])[1]


def _check_forward(pushed: Callable, point: _Point, number: int, gradient: np.ndarray, seeds: Sequence[Tensor],
                   size: float, random: np.random.Generator, order: int) -> None:
    """Compare forward mode with backward along a random direction of one input: equal up to rounding."""
    x = point.inputs[number]
    direction = _numbers(random, x)
    still = [np.zeros(point.inputs[i].shape, point.inputs[i].dtype) for i in point.wanted]
    still[point.wanted.index(number)] = direction
    tangents = pushed(*[_on_device(t, x) for t in still])
    found = sum(float((np.conj(s.to_host()) * t.to_host()).real.sum()) for s, t in zip(seeds, tangents))
    parts = (np.conj(gradient) * direction).real
    expected, allowed = float(parts.sum()), NOISE * (float(np.abs(parts).sum()) + size)
    if not abs(found - expected) <= allowed:
        raise AssertionError(
            f"check_grad: order {order}, input {number} of shape {x.shape}: forward mode gives {found:.8g}, backward "
            f"{expected:.8g}, off by {abs(found - expected):.1e} (allowed {allowed:.1e}). One of them is wrong.")


def _difference(f: Callable, point: _Point, number: int, direction: np.ndarray, seeds: Sequence[Tensor]) -> float:
    """The slope of the projected results along a direction: two central differences, extrapolated (Richardson)."""
    def projected(step: float) -> float:
        results = _results(f, point.moved(number, direction, step))
        return sum(float((np.conj(s.to_host()) * r.to_host()).real.sum()) for s, r in zip(seeds, results))

    wide, narrow = [(projected(step) - projected(-step)) / (2 * step) for step in (STEP, STEP / 2)]
    return (4 * narrow - wide) / 3


def _results(f: Callable, inputs: Sequence[Any]) -> list[Tensor]:
    """The float and complex results, unrecorded."""
    with tape.grad_mode(False):
        return _inexact(f(*inputs))


def _inexact(results: Any) -> list[Tensor]:
    found = [r for r in (results if isinstance(results, (tuple, list)) else [results])
             if isinstance(r, Tensor) and dtypes.is_inexact(r.dtype)]
    if not found:
        raise GradError("check_grad: the function gives no float tensor. Give one, or a tuple of them.")
    return found


def _numbers(random: np.random.Generator, like: Tensor) -> np.ndarray:
    """Random numbers in the shape and kind of a tensor."""
    found = random.standard_normal(like.shape)
    found = found + 1j * random.standard_normal(like.shape) if like.dtype.kind == "c" else found
    return np.asarray(found, like.dtype)


def _gradient(f: Callable, count: int, wanted: Sequence[int]) -> Callable:
    """The gradients of f as a function of its inputs and of the gradients of its results.

    Recording, it is differentiable itself: then its arguments are leaves already.
    """
    def gradient(*arguments: Tensor) -> tuple[Tensor, ...]:
        creates = tape.modes.enabled
        inputs, seeds = list(arguments[:count]), arguments[count:]
        with tape.grad_mode(True):
            for number in wanted:
                inputs[number] = inputs[number] if inputs[number].requires_grad else _leaf(inputs[number])
            results = _inexact(f(*inputs))
            outputs = [result for result in results if result.requires_grad]
            arriving = [seed for result, seed in zip(results, seeds) if result.requires_grad]
            found = gradients_of(outputs, arriving, True, creates) if outputs else {}
        nodes = [inputs[number].refresh().node for number in wanted]
        return tuple([_as_gradient(found.get(node), inputs[number]) for node, number in zip(nodes, wanted)])
    return gradient


def _leaf(x: Tensor) -> Tensor:
    leaf = x.detach()
    leaf.requires_grad = True
    return leaf


def _as_gradient(g: Any, x: Tensor) -> Tensor:
    """A gradient as a tensor; zeros where none came."""
    if g is None:
        return _on_device(np.zeros(x.shape, x.dtype), x)
    return g if isinstance(g, Tensor) else Tensor(g)


# ---------------------------------------------------------------------------------------------- comparison
def assert_close(actual: Any, expected: Any, *, ulp: float | None = None, rtol: float | None = None,
                 atol: float | None = None) -> None:
    """Raise AssertionError unless two arrays have one shape and agree, element by element.

    `ulp`: the largest distance in units in the last place of `actual`'s dtype, taken at the expected value; `expected`
    may be given in a wider dtype. `rtol`, `atol`: `|actual - expected| <= atol + rtol * |expected|`. A distance that
    one of them allows is allowed. With none of them, half the digits of the coarser dtype must agree, and integers and
    bools must be equal. NaN agrees with NaN, infinities only with themselves; with ulp=0 also the signs of zeros count.

    >>> from lucid_nb.testing import assert_close
    >>> assert_close([0.1 + 0.2], [0.3], ulp=1)
    >>> assert_close([1.0, 2.0], [1.0, 2.5], rtol=0.1)
    Traceback (most recent call last):
    ...
    AssertionError: assert_close: 1 of 2 elements differ. Worst at (1,): 2.0 instead of 2.5, off by 0.5 = 1.13e+15 ulp.
    """
    found, wanted = _host(actual), _host(expected)
    if found.shape != wanted.shape:
        raise AssertionError(f"assert_close: shape {found.shape} instead of {wanted.shape}.")
    if not (dtypes.is_inexact(found.dtype) or dtypes.is_inexact(wanted.dtype)):
        _raise_where(found != wanted, found, wanted, np.zeros(found.shape))
        return
    if ulp is rtol is atol is None:
        rtol = max(float(np.sqrt(_epsilon(a.dtype))) for a in (found, wanted) if dtypes.is_inexact(a.dtype))
    with np.errstate(all="ignore"):
        wide = np.result_type(_widest(found), _widest(wanted))
        a, b = found.astype(wide), wanted.astype(wide)
        unit = _unit(found.dtype, wanted)
        off = np.abs(a - b)
        is_close = (off <= (ulp or 0.0) * unit) | (off <= (atol or 0.0) + (rtol or 0.0) * np.abs(b))
        is_close = np.where(np.isfinite(a) & np.isfinite(b), is_close, (a == b) | (np.isnan(a) & np.isnan(b)))
        if ulp == 0 and wide.kind == "f":
            is_close &= np.isnan(a) | (np.signbit(a) == np.signbit(b))
    _raise_where(~is_close, found, wanted, off / unit)


def _host(x: Any) -> np.ndarray:
    return x.to_host() if isinstance(x, Tensor) else np.asarray(x)


def _widest(x: np.ndarray) -> np.dtype:
    return np.dtype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


def _epsilon(dtype: np.dtype) -> float:
    return 2.0 ** -7 if dtype == dtypes.BFLOAT16 else float(np.finfo(dtype).eps)


def _unit(dtype: np.dtype, expected: np.ndarray) -> np.ndarray:
    """The distance of neighbouring numbers of `dtype` at the expected values, never below the smallest subnormal."""
    dtype = dtype if dtypes.is_inexact(dtype) else expected.dtype
    digits = 7 if dtype == dtypes.BFLOAT16 else np.finfo(dtype).nmant
    lowest = -126 if dtype == dtypes.BFLOAT16 else np.finfo(dtype).minexp
    magnitude = np.abs(expected.astype(_widest(expected)))
    exponent = np.frexp(np.where(np.isfinite(magnitude) & (magnitude > 0), magnitude, 1))[1] - 1
    exponent = np.where(magnitude == 0, lowest, np.maximum(exponent, lowest))
    return np.ldexp(np.longdouble(1), exponent - digits)


def _raise_where(differs: np.ndarray, found: np.ndarray, wanted: np.ndarray, units: np.ndarray) -> None:
    if not np.any(differs):
        return
    worst = np.unravel_index(int(np.argmax(np.where(differs, np.nan_to_num(units, nan=np.inf), -1))), differs.shape)
    got, should = found[worst], wanted[worst]
    off = "" if found.dtype.kind == "b" else f", off by {abs(float(abs(got - should))):.3g}" \
        if dtypes.is_inexact(found.dtype) else f", off by {abs(int(got) - int(should))}"
    units_text = f" = {float(units[worst]):.3g} ulp" if dtypes.is_inexact(found.dtype) else ""
    raise AssertionError(f"assert_close: {np.count_nonzero(differs)} of {differs.size} elements differ. Worst at "
                         f"{tuple(map(int, worst))}: {got} instead of {should}{off}{units_text}.")


# ---------------------------------------------------------------------------------------------- strategies
AWKWARD = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, float("inf"), float("-inf"), float("nan"), 1e-42, -1e-42, 65504.0, 1e30)
LAYOUTS = ("C", "F", "strided", "negative", "broadcast")


def _hypothesis() -> Any:
    try:
        return importlib.import_module("hypothesis.strategies")
    except ImportError:
        raise BackendError("testing: hypothesis is not installed. Install it: pip install hypothesis.") from None


def shapes(*, max_dims: int = 3, max_side: int = 4, min_dims: int = 0, min_side: int = 0) -> Any:
    """A hypothesis strategy of shapes; empty and 0-d ones among them unless the minima forbid it."""
    st = _hypothesis()
    return st.lists(st.integers(min_side, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


def broadcastable_shapes(count: int = 2, *, max_dims: int = 3, max_side: int = 4, min_side: int = 0) -> Any:
    """A hypothesis strategy of tuples of `count` shapes that broadcast together."""
    st = _hypothesis()

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
    st = _hypothesis()
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
    floats = st.floats(low, high, width=32)
    floats = floats | st.sampled_from(AWKWARD) if awkward else floats
    return st.builds(complex, floats, floats) if dtype.kind == "c" else floats


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

"""Gradients against finite differences, and both modes against each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import dtypes, tape, trees
from ..array import Tensor
from ..autograd.transforms import linearize
from ..backward import gradients_of
from ..creation import asarray
from ..errors import DTypeError, GradError, ShapeError, told

STEP = 1e-4             # of a finite difference, relative to max(1, |x|); the error of its formula is STEP**4
RELATIVE = 1e-6         # what check_grad allows, relative to the sum of |gradient * direction|
NOISE = 1e-9            # and relative to the sum of |seed * result|: rounding of the two results, over STEP
DIRECTIONS = 2          # random directions an input


@dataclass
class _Point:
    """Where a function is differentiated: float64 or complex128 tensors, and which of them get a gradient."""

    inputs: list[Any]
    wanted: list[int]
    names: list[str]

    def told(self, number: int) -> str:
        """An input, for errors."""
        return f"{self.names[number]} of shape {self.inputs[number].shape}"

    def moved(self, number: int, direction: np.ndarray, step: float) -> list[Any]:
        """The inputs, one of them moved."""
        inputs = list(self.inputs)
        inputs[number] = _on_device(inputs[number].to_host() + step * direction, inputs[number])
        return inputs


def check_grad(f: Callable, *inputs: Any, order: int = 2, seed: int = 0) -> None:
    """Check the gradients of `f` against central finite differences, in float64.

    `f` takes the inputs as tensors and gives a tensor; both may be nested tuples, lists, dicts and dataclasses of them.
    Float and complex inputs are converted to float64 and complex128 and differentiated; integers and bools are passed
    as they are. Results are projected on random numbers and inputs moved in random directions, so every element counts;
    `seed` chooses the numbers. At order 2 the same is done to the gradient as a function of the inputs and of the
    incoming gradient.

    Raises AssertionError that names the order, the input, the direction and the difference, and the elements to which
    the direction can be cut down while they disagree.

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
    arguments, structure = trees.flatten(tuple([_unpacked(x) for x in inputs]))
    names = [f"input {path[1:].replace(']', '', 1)}" for path in structure.paths()]
    _check(lambda *leaves: f(*trees.unflatten(structure, leaves)), _point_of(arguments, names), random, 1, order)


def _unpacked(x: Any) -> Any:
    """An input as an array where it is one, or the tree that it is."""
    try:
        return x if isinstance(x, Tensor) else asarray(x)
    except (DTypeError, ShapeError):
        if trees.flatten(x)[1] == trees.LEAF:
            raise DTypeError(f"check_grad: an input is {told(x)}, of {type(x).__name__}. Give arrays, or nested "
                             "tuples, lists, dicts and dataclasses of them.") from None
        return x


def _point_of(inputs: Sequence[Any], names: list[str]) -> _Point:
    tensors = [_widened(x) for x in inputs]
    wanted = [i for i, x in enumerate(tensors) if dtypes.is_inexact(x.dtype)]
    if not wanted:
        raise DTypeError(f"check_grad: no input is float or complex, they are {[str(x.dtype) for x in tensors]}. "
                         "Pass integers inside the function.")
    return _Point(tensors, wanted, names)


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
        further = _Point([*point.inputs, *seeds], [*point.wanted, *range(count, count + len(seeds))],
                         [*point.names, *[f"the gradient of result {number}" for number in range(len(seeds))]])
        _check(_gradient(f, count, point.wanted), further, random, this + 1, last)


def _check_input(f: Callable, point: _Point, number: int, gradient: np.ndarray, seeds: Sequence[Tensor], size: float,
                 random: np.random.Generator, order: int) -> None:
    """Compare the gradient of one input, along random directions."""
    x = point.inputs[number]
    scale = np.maximum(1, np.abs(x.to_host()))
    for count in range(DIRECTIONS):
        direction = _numbers(random, x)
        direction = direction / max(1e-300, np.abs(direction).max(initial=0.0)) * scale
        compared = _Compared(f, point, number, gradient, seeds, size)
        expected, found, allowed = compared.along(direction)
        if not abs(found - expected) <= allowed:
            raise AssertionError(
                f"check_grad: order {order}, {point.told(number)}, direction {count} "
                f"({np.array2string(direction.ravel()[:4], precision=3)}): finite differences give {expected:.5g}, "
                f"backward gives {found:.5g}, off by {abs(found - expected):.1e} (allowed {allowed:.1e})"
                f"{compared.least(direction)}. {_reason(f, point, expected)}")


@dataclass
class _Compared:
    """The gradient of one input beside finite differences."""

    f: Callable
    point: _Point
    number: int
    gradient: np.ndarray
    seeds: Sequence[Tensor]
    size: float

    def along(self, direction: np.ndarray) -> tuple[float, float, float]:
        """The slope by finite differences, that by the gradient, and what is allowed between them."""
        expected, size = _difference(self.f, self.point, self.number, direction, self.seeds)
        parts = (np.conj(self.gradient) * direction).real
        allowed = RELATIVE * float(np.abs(parts).sum()) + NOISE * max(self.size, size)
        return expected, float(parts.sum()), allowed

    def least(self, direction: np.ndarray) -> str:
        """The fewest elements along which they disagree, found by halving a direction along which they do."""
        while (places := np.flatnonzero(direction)).size > 1:
            halves = [np.zeros_like(direction) for _ in range(2)]
            for half, part in zip(halves, np.array_split(places, 2)):
                half.flat[part] = direction.flat[part]
            beyond = [abs(found - expected) / max(allowed, 1e-300)
                      for expected, found, allowed in map(self.along, halves)]
            if not max(beyond) > 1:
                break
            direction = halves[int(beyond[1] > beyond[0])]
        if direction.size == 1 or places.size > 1:
            return ""
        expected, found, _ = self.along(direction)
        (step,), index = direction.flat[places], np.unravel_index(places[0], direction.shape)
        slopes = "" if direction.dtype.kind == "c" else f" ({expected / step:.5g} and {found / step:.5g})"
        return f"; already along element {tuple(map(int, index))} alone{slopes}"


def _reason(f: Callable, point: _Point, expected: float) -> str:
    """Why they may disagree."""
    if not np.isfinite(expected):
        return "The function is not finite here. Check it elsewhere."
    once, again = _results(f, point.inputs), _results(f, point.inputs)
    if any((a.to_host() != b.to_host()).any() for a, b in zip(once, again)):
        return "The function gives other values each time. Draw random numbers outside."
    if any(np.finfo(x.dtype).bits < 64 for x in once if x.dtype.kind == "f"):
        return "The function gives less than float64, which finite differences need. Keep the dtype of its inputs."
    return "The gradient is wrong, or the function has a kink here."


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
            f"check_grad: order {order}, {point.told(number)}: forward mode gives {found:.8g}, backward "
            f"{expected:.8g}, off by {abs(found - expected):.1e} (allowed {allowed:.1e}). One of them is wrong.")


def _difference(f: Callable, point: _Point, number: int, direction: np.ndarray, seeds: Sequence[Tensor]
                ) -> tuple[float, float]:
    """The slope of the projected results along a direction, and the sum of the magnitudes of their terms.

    Two central differences, extrapolated (Richardson).
    """
    sizes = []

    def projected(step: float) -> float:
        results = _results(f, point.moved(number, direction, step))
        terms = [(np.conj(s.to_host()) * r.to_host()).real for s, r in zip(seeds, results)]
        sizes.append(sum(float(np.abs(part).sum()) for part in terms))
        return sum(float(part.sum()) for part in terms)

    wide, narrow = [(projected(step) - projected(-step)) / (2 * step) for step in (STEP, STEP / 2)]
    return (4 * narrow - wide) / 3, max(sizes)


def _results(f: Callable, inputs: Sequence[Any]) -> list[Tensor]:
    """The float and complex results, unrecorded."""
    with tape.grad_mode(False):
        return _inexact(f(*inputs))


def _inexact(results: Any) -> list[Tensor]:
    found = [r for r in trees.flatten(results)[0] if isinstance(r, Tensor) and dtypes.is_inexact(r.dtype)]
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

"""Random programs of smooth steps, of every differentiable record, for the tests that compare ways to differentiate.

Values stay near 1 and steps have slopes near 1, so that finite differences are exact enough twelve steps deep: an
elementwise record is read in a small neighbourhood inside the interval where it is tested, and scaled by what it gives
at the ends. Nothing comes near a kink or a tie.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from hypothesis import strategies as st

import lucid_nb as lnb
from tests.ops import test_records

# Where records with kinks and jumps are smooth; of all others any part of where they are tested is.
SMOOTH = {
    "clip": ((-0.5, 0.5), (-2, -1), (1, 2)), "hardtanh": ((-0.5, 0.5), (-2, -1), (1, 2)),
    "celu": ((-2, -0.3), (0.5, 2)), "elu": ((-2, -0.3), (0.5, 2)), "selu": ((-2, -0.3),),
    "hardshrink": ((1.2, 3), (0.2, 1)),
    "softshrink": ((1.2, 3), (0.2, 1)), "leaky_relu": ((-3, -0.2), (0.1, 0.4)), "maximum": ((-3, -1), (-0.5, 3)),
    "minimum": ((-3, -1), (-0.5, 3)), "fmax": ((1, 3), (-3, 0.5)), "fmin": ((1, 3), (-3, 0.5)), "softsign": ((0.3, 5),),
    "threshold": ((1.2, 3), (-1, 1), (-9, 9)), "remainder": ((2.3, 2.7), (0.95, 1.04)), "angle_of_real": ((-3, -0.2),),
    "fmod": ((2.3, 2.7), (0.95, 1.04)), "sinc": ((0.4, 3),), "i0e": ((0.8, 9),), "i1e": ((0.8, 9),),
    "hypot": ((0.5, 3), (-3, -0.5)), "hardswish": ((-2.5, 2.5),), "hardsigmoid": ((-2.5, 2.5),)}
RECORDS = {name: op for name, op in test_records.RECORDS.items()
           if name in test_records.DIFFERENTIABLE and len(op.outputs) == 1 and not op.facts.rule.integers
           and op.facts.rule.kind != "choice" and hasattr(lnb, name) and len(op.facts.samples) == op.arity}
BASES = [(4,), (2, 3), (3, 3), (2, 1, 3)]
DEPTH = 12


# ---------------------------------------------------------------------------------------------------- steps
def record_step(name):
    """An elementwise record of operands that are moved to where it is smooth, shifted and scaled to about -1 to 1."""
    op, intervals = RECORDS[name], SMOOTH.get(name, RECORDS[name].facts.samples)
    function = getattr(lnb, name)

    @cache
    def scaling(how):
        """Places and radii of the operands, and the shift and the scale of the result: no part of a trace."""
        where = (0.3, 0.5, 0.7)[how % 3]
        places = [(low + where * (high - low), 0.15 * min(high - low, 2)) for low, high in intervals]
        ends = [float(function(*[centre + sign * radius for centre, radius in places])) for sign in (-1, 1)]
        middle = float(function(*[centre for centre, _ in places]))
        scale = max(abs(end - middle) for end in ends)
        return places, middle, scale if scale > 1e-3 else 1.0

    def step(operands, how, base):
        places, middle, scale = scaling(how)
        inside = [centre + radius * lnb.tanh(x) for (centre, radius), x in zip(places, operands)]
        return (function(*inside) - middle) / scale
    return step, op.arity


def axis_of(x, how):
    """An axis that an array has, None for all of it."""
    return (None, *range(x.ndim))[how % (x.ndim + 1)]


def reduction(function):
    """A reduction that keeps its axes, so that the result goes with every other value."""
    return (lambda operands, how, base: function(operands[0], axis_of(operands[0], how))), 1


def ramp(x, axis):
    """Numbers further apart than the values along an axis: no two are near each other when they are added."""
    steps = np.random.default_rng(x.size).permutation(x.size).astype(float)
    return 4 * lnb.asarray(steps.reshape(x.shape))


def furthest(function):
    """The largest or smallest, of numbers that are well apart."""
    return reduction(lambda x, axis: function(x / 2 + ramp(x, axis), axis=axis, keepdims=True) / 4 / max(1, x.size))


def moved(function):
    """A movement of an array that has axes; others pass."""
    def step(operands, how, base):
        x, = operands
        return function(x, how % x.ndim) if x.ndim else x
    return step, 1


def whole(x, base):
    """A fresh array of the common shape, to write into."""
    return lnb.broadcast_to(x, base).copy()


def write(function):
    """A write into a fresh array of the common shape, which is the result."""
    def step(operands, how, base):
        x, y = operands
        target = whole(x, base)
        function(target, y, how)
        return target
    return step, 2


def _set_row(target, y, how):
    target[how % len(target)] = lnb.tanh(y).mean()


def _scale_view(target, y, how):
    part = target[::-1][how % 2:]
    part *= lnb.cos(y.mean())
    part += target[:1] * 0.5 if how % 4 > 1 else 0.1


def _add_everywhere(target, y, how):
    target += y / 2
    target[..., 0] -= target[..., -1] / 3


def _write_by_index(target, y, how):
    target[lnb.asarray([how % len(target), 0])] = lnb.sin(y).sum() / 3
    target[np.arange(len(target)) % 2 == how % 2] *= 0.5


def _multiply_self(target, y, how):
    target *= target / 3
    target /= 2 + y.mean()


def _cast(operands, how, base):
    z = operands[0].astype("complex128")
    return (z * (1 + 0.5j)).real if how % 2 else lnb.absolute(z + (1.5 + 1j)) - 2


def _narrow_cast(operands, how, base):
    return operands[0].astype("float32") * np.float32(0.75)


def _product(operands, how, base):
    x, y = operands
    a, b = lnb.atleast_2d(x), lnb.atleast_2d(y)
    return (a @ lnb.ones((a.shape[-1], b.shape[-2])) @ b / max(a.shape[-1], b.shape[-2])).mean()


def _joined(operands, how, base):
    x, y = (lnb.broadcast_to(value, base) for value in operands)
    return lnb.concat([x[:1], y[1:]]) if how % 2 else lnb.array([x, y, y])[how % 3] + lnb.stack([x, y]).mean(0) / 2


STEPS = {name: record_step(name) for name in RECORDS}
STEPS |= {
    "sum": reduction(lambda x, axis: lnb.sum(x, axis=axis, keepdims=True) / 2),
    "mean": reduction(lambda x, axis: lnb.mean(x, axis=axis, keepdims=True)),
    "prod": reduction(lambda x, axis: lnb.prod(1 + x / 8, axis=axis, keepdims=True) - 1),
    "var": reduction(lambda x, axis: lnb.var(x + ramp(x, axis) / 4, axis=axis, keepdims=True) / max(1, x.size) ** 2),
    "std": reduction(lambda x, axis: lnb.std(lnb.stack([x, 2 + x / 2]), axis=0)),
    "logsumexp": reduction(lambda x, axis: lnb.logsumexp(x, axis=axis, keepdims=True)),
    "softmax": reduction(lambda x, axis: lnb.softmax(x, axis=-1 if axis is None else axis) * 3 if x.ndim else x),
    "norm": reduction(lambda x, axis: lnb.sqrt(0.5 + (x * x).sum(axis=axis, keepdims=True))),
    "max": furthest(lnb.max), "min": furthest(lnb.min),
    "cumsum": moved(lambda x, axis: lnb.cumsum(x, axis=axis) / 2), "flip": moved(lnb.flip),
    "cumprod": moved(lambda x, axis: lnb.cumprod(1 + x / 8, axis=axis) - 1),
    "roll": moved(lambda x, axis: lnb.roll(x, 1, axis)), "sort": moved(lambda x, axis: lnb.sort(
        x / 2 + ramp(x, axis), axis=axis) / 4 / max(1, x.size)),
    "take": moved(lambda x, axis: lnb.take(x, np.arange(x.shape[axis]) // 2, axis=axis)),
    "index": moved(lambda x, axis: x[np.arange(len(x))[::-1] // 2] * 1.5),
    "transpose": moved(lambda x, axis: lnb.sin(x.T).T * 1.2),
    "reshape": moved(lambda x, axis: x.reshape(-1).reshape(x.shape)),
    "pad": moved(lambda x, axis: lnb.pad(x, 1)[(slice(1, -1),) * x.ndim]),
    "where": ((lambda operands, how, base: lnb.where(np.arange(base[-1]) % 2 == how % 2, *operands)), 2),
    "set_row": write(_set_row), "scale_view": write(_scale_view), "add_everywhere": write(_add_everywhere),
    "write_by_index": write(_write_by_index), "multiply_self": write(_multiply_self), "cast": (_cast, 1),
    "matmul": (_product, 2), "joined": (_joined, 2)}
EXACT = sorted(STEPS)
STEPS["narrow_cast"] = (_narrow_cast, 1)
# Each record costs a compilation for every derivative: these few every time, the others in the sweep.
FEW = {"add", "arctan2", "clip", "divide", "erf", "exp", "lgamma", "logaddexp", "multiply", "power", "sigmoid", "sin"}


# ------------------------------------------------------------------------------------------------- programs
@dataclass(frozen=True)
class Program:
    """Steps (name, numbers of operands, variant); each may read every value before it, inputs first."""

    base: tuple
    steps: tuple

    def __call__(self, *inputs):
        """The last value, and a little of every other one so that all count."""
        values = list(inputs)
        for name, operands, how in self.steps:
            function, arity = STEPS[name]
            chosen = [values[-1 - number % len(values)] for number in operands[:arity]]
            values.append(function(chosen, how, self.base))
        *others, last = values
        return last + sum([value.mean() for value in others]) / 10


@st.composite
def programs(draw, names=EXACT, depth=DEPTH):
    """A program and inputs for it, of shapes that broadcast to a common one."""
    base = draw(st.sampled_from(BASES))
    small = st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
    steps = draw(st.lists(st.tuples(st.sampled_from(names), small, st.integers(0, 11)), min_size=1, max_size=depth))
    cuts = draw(st.lists(st.tuples(st.integers(0, len(base)), st.integers(0, len(base))), min_size=1, max_size=3))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    shapes = [tuple(1 if axis == flat else size for axis, size in enumerate(base))[cut:] for cut, flat in cuts]
    return Program(base, tuple(steps)), [random.uniform(-1, 1, shape) for shape in shapes]

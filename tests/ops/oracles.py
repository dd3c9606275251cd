"""What the generic tests of elementwise records share: which records and dtypes, inputs, and the oracle's values.

Nothing here names a record, so a new one is tested without an edit. What a run leaves out (dtypes beyond float32 and
float64) is drawn anew every ISO week, and all of it is run under the marker `sweep`.
"""

import datetime
import random
from functools import partial
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
import scipy.special

import lucid_nb as lnb
from lucid_nb import dtypes
from lucid_nb.apply import apply
from lucid_nb.errors import DTypeError
from lucid_nb.op import Elementwise, registry
from lucid_nb.register import functions
from lucid_nb.testing import AWKWARD

YEAR, WEEK, _ = datetime.date.today().isocalendar()
SEED = YEAR * 100 + WEEK
FLOATS = ("float32", "float64")
OTHERS = ("float16", "bfloat16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "complex64", "complex128")
COUNT = 200
EXPONENTS = (0, 1, -1, 11, -11, 130, -130, -149, -1030, 1030, -1074, -2100, 2100, 2 ** 31 - 1, -2 ** 31)
DIGITS = 40          # of mpmath
OF_DTYPE = ("numpy.nextafter", "numpy.spacing")        # of 16 bits too these are those of the dtype itself
IS_LONG = np.finfo(np.longdouble).eps < 1e-18


def with_digits(digits, function):
    """A function evaluated where it cancels."""
    def wide(*xs):
        with mpmath.workdps(digits):
            return function(*xs)
    return wide


def from_zero(function):
    """A function of two numbers that are not negative, NaN elsewhere."""
    return lambda x, y: function(x, y) if x >= 0 and y >= 0 else mpmath.nan


# SciPy's functions that mpmath has too (SciPy's own errors of a few units would hide ours), and others for mpmath only.
EXACT = dict(erf=mpmath.erf, erfc=mpmath.erfc, ndtr=mpmath.ncdf, expit=lambda x: 1 / (1 + mpmath.exp(-x)),
             log_expit=lambda x: -mpmath.log1p(mpmath.exp(-x)), gammaln=lambda x: mpmath.re(mpmath.loggamma(x)),
             digamma=mpmath.psi0 if hasattr(mpmath, "psi0") else lambda x: mpmath.psi(0, x),
             gamma=lambda x: mpmath.inf if x > 1000 else mpmath.gamma(x),
             cbrt=lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
             trigamma=lambda x: mpmath.psi(1, x) if mpmath.isfinite(x) else mpmath.nan,
             tetragamma=lambda x: mpmath.psi(2, x) if mpmath.isfinite(x) else mpmath.nan,
             i0=lambda x: mpmath.besseli(0, x), i0e=lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)),
             i1=lambda x: mpmath.besseli(1, x), i1e=lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)),
             sinc=lambda x: mpmath.sincpi(x) if mpmath.isfinite(x) else mpmath.nan,
             log_ndtr=lambda x: mpmath.log1p(-mpmath.ncdf(-x)) if x < mpmath.inf else mpmath.nan,
             erfcx=lambda x: mpmath.exp(x * x) * mpmath.erfc(x), erfinv=mpmath.erfinv,
             erfcinv=with_digits(400, lambda x: mpmath.erfinv(1 - x)),
             ndtri=with_digits(400, lambda x: mpmath.sqrt(2) * mpmath.erfinv(2 * x - 1)),
             beta=from_zero(mpmath.beta), betaln=from_zero(lambda x, y: mpmath.log(abs(mpmath.beta(x, y)))),
             tanhshrink=with_digits(300, lambda x: x - mpmath.tanh(x)))
# Of complex numbers, where NumPy and SciPy have no function.
COMPLEX = {"scipy.special.expit": lambda z: 1 / (1 + mpmath.exp(-z)),
           "x * scipy.special.expit(x)": lambda z: z / (1 + mpmath.exp(-z)),
           "numpy.logaddexp": lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b))}


# Next to their zeros these are right to so many units of 1 (of the dtype's epsilon).
ABSOLUTE = {"lgamma": 8, "digamma": 8, "betaln": 16, "tetragamma": 64}


def records():
    """Every elementwise record that says which function it must agree with."""
    return {name: op for name, op in registry.items() if isinstance(op, Elementwise) and op.facts.oracle}


def takes(op, dtype):
    """Does the record's rule allow this dtype?"""
    try:
        op.rule.loop(op.name, keys_of(op, dtypes.as_dtype("test", dtype)))
    except DTypeError:
        return False
    return True


def is_numpys(op, dtype):
    """Is a dtype no complex one, or one that NumPy's function takes as the record does?"""
    return not dtype.startswith("complex") or (op.rule.complexes and op.facts.oracle not in COMPLEX)


def plain(op, dtype="float32"):
    """This float dtype, or the integers of its size where the record takes only those."""
    return dtype if takes(op, dtype) else dtype.replace("float", "int")


def keys_of(op, dtype):
    """The dtypes of its operands: this one, and int32 where the rule wants integers of any dtype."""
    return tuple(np.dtype(np.int32) if number in op.rule.integers else dtype for number in range(op.arity))


def is_differentiable(op):
    """Does the record give a float of a float, that depends on it smoothly somewhere?"""
    if not takes(op, "float64"):
        return False
    result = result_dtypes(op, keys_of(op, dtypes.FLOAT64))[0]
    return result.kind == "f" and True in op.plan([0] * op.arity).served


def result_dtypes(op, keys, device="cpu"):
    """The dtypes of the results for operands with these dtypes (Python types for weak scalars), without a kernel."""
    from lucid_nb import program
    loop = op.rule.loop(op.name, tuple(keys), device)
    inputs = ["bool" if op.rule.kind == "choice" and i == 0 else loop.name for i in range(op.arity)]
    outputs = (op.of_complex if op.of_complex is not None and loop.kind == "c" else op).outputs
    typed = program.type_program(outputs, inputs, frozenset())
    return [dtypes.as_dtype("test", name) for name in typed.results]


def cases(*, fixed=FLOATS, sampled=OTHERS, count=2):
    """(record, dtype) as parameters: the fixed dtypes and `count` of the sampled ones; the rest under `sweep`."""
    found = []
    for name, op in records().items():
        allowed = [dtype for dtype in sampled if takes(op, dtype)]
        chosen = random.Random(f"{SEED} {name}").sample(allowed, min(count, len(allowed)))
        found += [pytest.param(name, dtype, id=f"{name}-{dtype}") for dtype in (*fixed, *chosen) if takes(op, dtype)]
        found += [pytest.param(name, dtype, id=f"{name}-{dtype}", marks=pytest.mark.sweep)
                  for dtype in allowed if dtype not in chosen]
    return found


def call(name):
    """The public function, or the op of a record whose function looks at its arguments first."""
    found = functions.get(name)
    return found if found is not None else partial(apply_to, records()[name])


def results(found):
    """One result or several as a tuple."""
    return found if isinstance(found, tuple) else (found,)


def hosts(found):
    """One result or several as NumPy arrays, side by side."""
    return [result.to_host() for result in results(found)]


def same(found, wanted):
    """Are two sets of NumPy arrays equal bit for bit, NaN beside NaN?"""
    return all(a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
               for a, b in zip(found, wanted))


def apply_to(op, *inputs):
    """The op itself."""
    return apply(op, inputs)


# ------------------------------------------------------------------------------------------------ inputs
def drawn(op, dtype, shape, seed=0):
    """Inputs where the record says that it should be tested."""
    numbers = np.random.default_rng(seed)
    keys = keys_of(op, dtypes.as_dtype("test", dtype))
    return [draw(key, low, high, shape, numbers) for key, (low, high) in zip(keys, op.facts.samples)]


def draw(dtype, low, high, shape, numbers):
    """Numbers of a dtype between two bounds."""
    if dtype.kind == "b":
        return numbers.random(shape) < 0.5
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        low = max(int(low), bounds.min)
        return numbers.integers(low, max(min(int(high), bounds.max), low) + 1, shape).astype(dtype)
    found = numbers.uniform(low, high, shape)
    return (found + 1j * numbers.uniform(-1, 1, shape) if dtype.kind == "c" else found).astype(dtype)


def awkward(op, dtype):
    """Every pair (or many triples) of awkward numbers of a real dtype."""
    dtype = dtypes.as_dtype("test", dtype)
    with np.errstate(all="ignore"):
        if dtype.kind in "iu":
            bounds = np.iinfo(dtype)
            values = np.array([bounds.min, bounds.max, bounds.min + 1, 0, 1, 2, 3, 7], dtype)
        else:
            values = np.array([False, True]) if dtype.kind == "b" else np.array(AWKWARD).astype(dtype)
    if op.rule.integers:
        return [grid.ravel().copy() for grid in np.meshgrid(values, np.array(EXPONENTS, np.int32))]
    if op.arity < 3:
        return [grid.ravel().copy() for grid in np.meshgrid(*[values] * op.arity)]
    return [np.random.default_rng(number).choice(values, 300) for number in range(op.arity)]


# ------------------------------------------------------------------------------------------------ oracles
def expected(op, inputs, device="cpu"):
    """For each result what the record's oracle gives, as precisely as it can, and rounded to the result's dtype.

    Exact records: the oracle in the dtype itself. Others: in long double, or in mpmath's 40 digits.
    """
    keys = tuple(dtypes.as_dtype("test", x.dtype) for x in inputs)
    loop = op.rule.loop(op.name, keys, device)
    with np.errstate(all="ignore"):
        kept = {0} if op.rule.kind == "choice" else {*op.rule.integers}
        inputs = [x if i in kept else x.astype(loop) for i, x in enumerate(inputs)]
        is_exact, is_named = op.facts.ulp == 0, "(" not in op.facts.oracle
        is_of_dtype = op.facts.oracle in OF_DTYPE or (is_exact and is_named and loop == dtypes.FLOAT16)
        wide = loop if is_of_dtype else wide_dtype(loop, is_exact)
        values = evaluate(op.facts.oracle, [x.astype(wide) if x.dtype == loop else x for x in inputs])
        return [with_rounded(value, result, op.facts.ulp == 0 and loop.kind != "c")
                for value, result in zip(values, result_dtypes(op, keys, device))]


def with_rounded(values, result, is_exact):
    """(precise, rounded) values; the first are rounded too where nothing is lost, or where they leave the dtype."""
    rounded = np.asarray(values).astype(result)
    if is_exact or result.kind in "biu":
        return rounded, rounded
    is_normal = np.isfinite(rounded.astype(values.dtype)) & (rounded != 0)
    return np.where(is_normal, values, rounded.astype(values.dtype)), rounded


def wide_dtype(loop, is_exact):
    """Where the oracle is evaluated."""
    if loop.kind in "biu" or loop.kind == "c":
        return loop
    if is_exact:
        return np.dtype(np.float32) if loop.itemsize == 2 else loop
    return np.dtype(np.longdouble)


def allowance(op, dtype):
    """Units in the last place that a result may be off, the error of the oracle itself included."""
    if op.facts.ulp == 0 or dtype.itemsize < 8:
        return op.facts.ulp
    uses_scipy = any(f"special.{name}" in op.facts.oracle for name in dir(scipy.special) if name not in EXACT)
    return op.facts.ulp + (2 if uses_scipy else 0) + (0 if IS_LONG else 1)


def evaluate(oracle, inputs):
    """The results of a dotted name applied to the inputs, or of an expression of x, y, z."""
    if oracle in COMPLEX and any(np.iscomplexobj(x) for x in inputs):
        return (by_mpmath(COMPLEX[oracle], *inputs),)
    names = dict(zip("xyz", inputs))
    found = eval(oracle, {"numpy": np, "scipy": SimpleNamespace(special=Special()), "mpmath": Special()}, names)
    found = found(*inputs) if callable(found) else found
    return found if isinstance(found, tuple) else (np.asarray(found),)


class Special:
    """scipy.special, by mpmath where it has the function."""

    def __getattr__(self, name):
        exact = EXACT.get(name)
        return partial(by_mpmath, exact) if exact else lambda *xs: getattr(scipy.special, name)(*map(np.float64, xs))


def by_mpmath(function, *inputs):
    """A function of numbers, rounded once to long double; what mpmath refuses, as SciPy's limits."""
    inputs = np.broadcast_arrays(*inputs)
    with mpmath.workdps(DIGITS):
        if any(np.iscomplexobj(x) for x in inputs):
            rows = zip(*[x.ravel().tolist() for x in inputs])
            found = [complex(function(*map(mpmath.mpc, values))) for values in rows]
            return np.array(found).reshape(inputs[0].shape)
        found = [one_by_mpmath(function, values) for values in zip(*[x.ravel() for x in inputs])]
    return np.array(found, np.longdouble).reshape(inputs[0].shape)


def one_by_mpmath(function, values):
    """One value, of arguments that may be long doubles. Where it is 0, odd functions are told by the last argument."""
    try:
        exact = function(*[mpmath.mpf(float(x)) + (float(x - np.longdouble(float(x))) if np.isfinite(x) else 0)
                           for x in map(np.longdouble, values)])
        high = np.copysign(float(exact), float(mpmath.sign(exact)) or (1 if values[-1] else values[-1]))
        return np.longdouble(high) + (np.longdouble(float(exact - high)) if high and np.isfinite(high) else -0.0)
    except (TypeError, ValueError, ZeroDivisionError):
        return np.longdouble("nan")


def on(device, array):
    """A host array on a device."""
    return lnb.asarray(array, device=device)

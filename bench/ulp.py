"""Errors of the CPU vocabulary in units of the last place, against MPFR with 130 bits: `python bench/ulp.py`.

An error is |computed - exact| / ulp(exact), the ulp being that of the binade of the exact value and never below the
smallest subnormal; 0.5 is a correctly rounded result. An infinity must come exactly where rounding gives one.
Needs gmpy2 (MPFR). Half of the points are drawn evenly over all bit patterns of the domain, so over all exponents;
a third evenly over the interval where the function does something; the rest lie at its zeros, at the branch points of
the implementation and among the subnormals. `python bench/ulp.py --functions exp,log` measures some and writes nothing.
"""

import argparse
import ctypes
import datetime
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import gmpy2
import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
import ulp_special
from gmpy2 import mpfr

from lucid_nb.kernels import compiler, intrinsics, math, store
from lucid_nb.op import registry

RESULTS = Path(__file__).parent / "results" / "ulp.md"
BITS = {"float32": 24, "float64": 53}
SEED = 20240229
NOTES = ("Every function is measured relatively, next to its zeros too, but logaddexp and logaddexp2: in units of the "
         "larger of their two terms, max(a, b) and log(1 + exp(-|a - b|)), which cancel near a zero; and lgamma, "
         "digamma and tetragamma left of the origin (ulp_special.py). sin, cos and tan are the vector path, "
         "sin_any, cos_any and tan_any the one that holds for every finite number.")
gmpy2.get_context().precision = 130
LOG_TWO = gmpy2.log(mpfr(2))
ROOT_TWO, ROOT_TAU = gmpy2.sqrt(mpfr(2)), gmpy2.sqrt(2 * gmpy2.const_pi())


@dataclass(frozen=True)
class Case:
    """One function: its exact values, its domain, where it does something (by dtype), and points to surround.

    A function of two numbers brings its points; `unit` gives the number whose last place counts, if not the result.
    """

    exact: Callable
    span: dict[str, tuple[float, float]] = field(default_factory=dict)
    points: tuple[float, ...] = (0.0,)
    domain: tuple[float, float] = (-np.inf, np.inf)
    pairs: Callable | None = None
    unit: Callable | None = None
    rare: bool = False       # are its exact values slow, so that fewer points must do?


def both(low: float, high: float) -> dict[str, tuple[float, float]]:
    """One interval for both dtypes."""
    return {"float32": (low, high), "float64": (low, high)}


def softplus(x):
    """log(1 + exp(x))."""
    return x if x > 10000 else gmpy2.log1p(gmpy2.exp(x))


def logaddexp(a, b):
    """log(exp(a) + exp(b))."""
    return max(a, b) + gmpy2.log1p(gmpy2.exp(-abs(a - b)))


def logaddexp2(a, b):
    """log2(2**a + 2**b)."""
    return max(a, b) + gmpy2.log1p(gmpy2.exp2(-abs(a - b))) / LOG_TWO


def sinpi(x):
    """sin(pi x), from x modulo 2, which is exact."""
    turn = gmpy2.fmod(x, 2)
    return mpfr(0) if turn == gmpy2.rint(turn) else gmpy2.sin(turn * gmpy2.const_pi())


def sinc(x):
    """sin(pi x) / (pi x)."""
    return mpfr(1) if x == 0 else sinpi(x) / (x * gmpy2.const_pi())


def normal_cdf(x):
    """The distribution function of the normal distribution."""
    return gmpy2.erfc(-x / ROOT_TWO) / 2


def from_bits(words: np.ndarray, dtype: str) -> np.ndarray:
    """Floats whose ordered bit patterns are `words` (signed; -1 is the negative number next to zero)."""
    integer = np.int32 if dtype == "float32" else np.int64
    magnitude = np.abs(words).astype(integer).view(dtype)
    return np.where(words < 0, -magnitude, magnitude)


def to_bits(x: float, dtype: str) -> int:
    """Inverse of `from_bits`."""
    value = np.array(abs(x), dtype)
    word = int(value.view(np.int32 if dtype == "float32" else np.int64))
    return -word if x < 0 else word


def power_points(dtype: str, count: int, random: np.random.Generator) -> list[np.ndarray]:
    """Pairs whose power is neither 0 nor infinite more often than not: bases over all exponents and near 1."""
    anywhere = from_bits(random.integers(1, to_bits(float(np.finfo(dtype).max), dtype), count // 2), dtype)
    base = np.concatenate([anywhere, np.exp(random.normal(0, 0.3, count - count // 2) ** 3).astype(dtype)])
    reach = 150.0 if dtype == "float32" else 1080.0
    exponent = random.uniform(-reach, reach, count) / np.maximum(np.abs(np.log2(base.astype(float))), 1e-30)
    return [base, np.clip(exponent, -1e30, 1e30).astype(dtype)]


def plane(dtype: str, count: int, random: np.random.Generator) -> list[np.ndarray]:
    """Pairs over all exponents, and as many of like size."""
    largest = to_bits(float(np.finfo(dtype).max), dtype)
    x, y = from_bits(random.integers(-largest, largest, (2, count), endpoint=True), dtype)
    with np.errstate(over="ignore"):
        near = (x * np.exp(random.normal(0, 3, count))).astype(dtype)
    return [x, np.where((random.random(count) < 0.5) & np.isfinite(near), near, y)]


def summands(dtype: str, count: int, random: np.random.Generator) -> list[np.ndarray]:
    """Pairs at all distances where both exponentials count, of every sign and size."""
    a = random.uniform(-30, 30, count) * 10.0 ** random.uniform(-8, 1, count)
    return [a.astype(dtype), (a + random.normal(0, 1, count) * 10.0 ** random.uniform(-6, 1.5, count)).astype(dtype)]


EXP = {"float32": (-104, 89), "float64": (-746, 710)}
TAIL = {"float32": (-14.5, 14.5), "float64": (-38.8, 38.8)}
LOG_POINTS = (1.0, 0.7071067811865476, 1.4142135623730951, 2.0, 0.5)
TURNS = (1e5, 9e5, *[k * np.pi / 4 for k in range(1, 40)])
CASES = {
    "exp": Case(gmpy2.exp, EXP, (0.0, 0.34657359, -0.34657359, 88.722839, -87.336544, -103.97208, 709.782712893384)),
    "expm1": Case(gmpy2.expm1, EXP, (0.0, 0.34657359, -0.34657359, 1.0397, -18, 88.722839, 709.782712893384)),
    "log": Case(gmpy2.log, both(0, 8), LOG_POINTS, (0.0, np.inf)),
    "log1p": Case(gmpy2.log1p, both(-1, 4), (0.0, -0.2928932188134524, 0.41421356237309503, -1.0, -0.5, 1.0),
                  (-1.0, np.inf)),
    "sqrt": Case(gmpy2.sqrt, both(0, 8), (1.0,), (0.0, np.inf)),
    "sin": Case(gmpy2.sin, both(-100, 100), TURNS, (-1e6, 1e6)),
    "cos": Case(gmpy2.cos, both(-100, 100), TURNS, (-1e6, 1e6)),
    "sin_any": Case(gmpy2.sin, both(-1e7, 1e7), TURNS),
    "cos_any": Case(gmpy2.cos, both(-1e7, 1e7), TURNS),
    "tanh": Case(gmpy2.tanh, both(-20, 20), (0.0, 0.17328679, 0.51986, 9.01)),
    "erf": Case(gmpy2.erf, both(-6, 6), (0.0, 1.0, 4.0)),
    "erfc": Case(gmpy2.erfc, {"float32": (-4, 10.1), "float64": (-6, 27.3)}, (0.0, 10.05, 9.19, 26.5, 27.2)),
    "sigmoid": Case(lambda x: 1 / (1 + gmpy2.exp(-x)), EXP, (0.0, -87.3, -103.9, -708.4)),
    "sigmoid_slope": Case(lambda x: 1 / (2 * gmpy2.cosh(x / 2)) ** 2, EXP, (0.0, 20.0)),
    "tanh_slope": Case(lambda x: 1 / gmpy2.cosh(x) ** 2, {"float32": (-52, 52), "float64": (-373, 373)}, (0.0, 20.0)),
    "softplus": Case(softplus, EXP, (0.0, 0.8813736, -0.8813736, -87.3)),
    "logsigmoid": Case(lambda x: -softplus(-x), EXP, (0.0, 0.8813736, -0.8813736, 87.3)),
    "normal_cdf": Case(normal_cdf, TAIL, (0.0, -14.17, -13.0, -38.4)),
    "normal_density": Case(lambda x: gmpy2.exp(-x * x / 2) / ROOT_TAU, TAIL, (0.0, 13.0, 38.0)),
    "gelu": Case(lambda x: x * normal_cdf(x), TAIL, (0.0, -14.17, -13.0, -38.4)),
    "exp2": Case(gmpy2.exp2, {"float32": (-150, 128), "float64": (-1075, 1024)}, (0.0, 0.5, -0.5, -126, -149, 1023.9)),
    "log2": Case(gmpy2.log2, both(0, 8), LOG_POINTS, (0.0, np.inf)),
    "log10": Case(gmpy2.log10, both(0, 8), (*LOG_POINTS, 10.0, 100.0), (0.0, np.inf)),
    "tan": Case(gmpy2.tan, both(-100, 100), TURNS, (-1e5, 1e5)),
    "tan_any": Case(gmpy2.tan, both(-1e7, 1e7), TURNS),
    "arcsin": Case(gmpy2.asin, both(-1, 1), (0.0, 0.5, 1.0), (-1.0, 1.0)),
    "arccos": Case(gmpy2.acos, both(-1, 1), (0.0, 0.5, -0.5, 1.0, -1.0), (-1.0, 1.0)),
    "arctan": Case(gmpy2.atan, both(-4, 4), (0.0, 1.0)),
    "sinh": Case(gmpy2.sinh, {"float32": (-90, 90), "float64": (-711, 711)}, (0.0, 0.34657359, 1.0397, 89.4, 710.47)),
    "cosh": Case(gmpy2.cosh, {"float32": (-90, 90), "float64": (-711, 711)}, (0.0, 0.34657359, 1.0397, 89.4, 710.47)),
    "arcsinh": Case(gmpy2.asinh, both(-4, 4), (0.0, 0.5, 8192.0, 268435456.0)),
    "arccosh": Case(gmpy2.acosh, both(1, 8), (1.0, 2.0, 8192.0, 268435456.0), (1.0, np.inf)),
    "arctanh": Case(gmpy2.atanh, both(-1, 1), (0.0, 0.1715728, 0.5, 1.0), (-1.0, 1.0)),
    "cbrt": Case(gmpy2.cbrt, both(-8, 8), (1.0, 8.0, 27.0)),
    "sinc": Case(sinc, both(-8, 8), (0.0, 0.25, 0.5, 1.0, 2.0)),
    "power": Case(lambda a, b: a ** b, pairs=power_points),
    "hypot": Case(gmpy2.hypot, pairs=plane),
    "arctan2": Case(gmpy2.atan2, pairs=plane),
    "logaddexp": Case(logaddexp, pairs=summands, unit=lambda a, b: max(abs(max(a, b)), logaddexp(0, -abs(a - b)))),
    "logaddexp2": Case(logaddexp2, pairs=summands, unit=lambda a, b: max(abs(max(a, b)), logaddexp2(0, -abs(a - b)))),
}
CASES |= {name: Case(**case) for name, case in ulp_special.CASES.items()}


def sample(case: Case, dtype: str, count: int, random: np.random.Generator) -> np.ndarray:
    """At least `count` points of the domain."""
    largest = float(np.finfo(dtype).max)
    low, high = (to_bits(min(max(end, -largest), largest), dtype) for end in case.domain)
    near = max(count // 6 // (len(case.points) + 1), 2)
    parts = [from_bits(random.integers(low, high, count // 2, endpoint=True), dtype),
             random.uniform(*case.span[dtype], count - count // 2 - count // 6).astype(dtype)]
    parts += [from_bits(to_bits(p, dtype) + random.integers(-4096, 4097, near), dtype) for p in case.points]
    smallest_normal = 1 << (BITS[dtype] - 1)
    subnormal = np.clip(random.integers(-smallest_normal, smallest_normal, near), low, high)
    parts += [from_bits(subnormal, dtype)]
    points = np.concatenate([*parts, np.array([largest, -largest], dtype)]).astype(dtype)
    points = points[(points >= case.domain[0]) & (points <= case.domain[1])]
    extra = count - len(points)
    return points if extra <= 0 else np.concatenate([points, from_bits(random.integers(low, high, extra), dtype)])


def error(computed: float, exact: mpfr, dtype: str, largest: mpfr, unit: mpfr) -> float:
    """The error of one result in ulp of the result, or of `unit` where that is larger."""
    if gmpy2.is_nan(exact) or computed != computed:
        return 0.0 if gmpy2.is_nan(exact) and computed != computed else np.inf
    if abs(exact) >= largest or abs(computed) == np.inf:
        rounds_to_infinity = abs(exact) >= largest
        return 0.0 if rounds_to_infinity and computed == (np.inf if exact > 0 else -np.inf) else np.inf
    smallest = -148 if dtype == "float32" else -1073
    size = max(abs(exact), abs(unit))
    exponent = gmpy2.get_exp(size) if size != 0 and not gmpy2.is_infinite(size) else smallest
    return float(abs(computed - exact) * gmpy2.exp2(-max(exponent - BITS[dtype], smallest - 1)))


def apply(name: str, arrays: list[np.ndarray]) -> np.ndarray:
    """`<name>(*arrays)`, element by element, by a kernel of the store; of an expansion, by its record."""
    dtype = arrays[0].dtype.name
    if name not in dir(math):
        return registry[name.rpartition("_")[0]].run(arrays)
    operands = [f"x{k}" for k in range(len(arrays))]
    text = (f"def kernel(count, {', '.join(operands)}, y):\n    mark_kernel()\n    for i in range(count):\n"
            f"        y[i] = {name}({', '.join(x + '[i]' for x in operands)})\n")
    space = {name: getattr(math, name), "mark_kernel": intrinsics.mark_kernel}
    exec(text, space)
    kinds = [dtype + "*"] * (len(arrays) + 1)
    address = store.load(text + dtype, lambda symbol: store.elementwise_object(space["kernel"], kinds, symbol))
    result = np.empty_like(arrays[0])
    table = (ctypes.c_int64 * len(kinds))(*(a.ctypes.data for a in (*arrays, result)))
    ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(address)(result.size, ctypes.addressof(table))
    return result


def measure(name: str, dtype: str, arrays: list[np.ndarray], case: Case) -> np.ndarray:
    """Errors of `<name>_<dtype>` at points."""
    results = apply(f"{name}_{dtype}", arrays)
    precision = BITS[dtype]
    largest = (mpfr(2) - gmpy2.exp2(-precision)) * gmpy2.exp2(127 if dtype == "float32" else 1023)
    values = zip(results.tolist(), *(a.tolist() for a in arrays))
    unit = case.unit or (lambda *x: mpfr(0))
    return np.array([error(y, case.exact(*map(mpfr, x)), dtype, largest, unit(*map(mpfr, x))) for y, *x in values])


def rows(names: list[str], count: int) -> Iterator[tuple[str, ...]]:
    """One row of the table for each function and dtype."""
    for name in names:
        for dtype in BITS:
            random = np.random.default_rng(SEED)
            case = CASES[name]
            share = count // ulp_special.RARE if case.rare else count
            arrays = case.pairs(dtype, share, random) if case.pairs else [sample(case, dtype, share, random)]
            errors = measure(name, dtype, arrays, case)
            worst = int(np.argmax(errors))
            where = ", ".join(repr(float(a[worst])) for a in arrays)
            domain = f"[{case.domain[0]:g}, {case.domain[1]:g}]" if not case.pairs else case.pairs.__name__
            most = f"{np.quantile(errors, 0.999):.3f}"
            yield name, dtype, str(len(errors)), domain, f"{errors[worst]:.3f}", where, most


def table(lines: list[tuple[str, ...]], command: str) -> str:
    """The report: how it was made, then a row for each function and dtype."""
    text = (__doc__ or "").split("\n", 1)[1].strip()
    made = (f"`{command}`, {datetime.date.today()}, {platform.machine()} ({llvm.get_host_cpu_name()}, vectors of "
            f"{compiler.vector_width()} bit), numba {numba.__version__}, llvmlite {llvmlite.__version__}, "
            f"numpy {np.__version__}, {gmpy2.mpfr_version()}.")
    head = "| function | dtype | points | domain | max ULP | at | 99.9 % |\n|---|---|---|---|---|---|---|"
    return "\n".join(["# Errors of the vocabulary on the CPU", "", made, "", text, "", NOTES, "", head,
                      *("| " + " | ".join(line) + " |" for line in lines), ""])


def main() -> None:
    """Measure, print, and write the report when everything was measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--functions", default="", help="some of: " + ",".join(CASES))
    options = parser.parse_args()
    names = options.functions.split(",") if options.functions else [*CASES]
    lines = []
    for line in rows(names, options.points):
        lines.append(line)
        print("  ".join(f"{word:>10s}" for word in line), flush=True)
    if not options.functions:
        RESULTS.write_text(table(lines, f"python bench/ulp.py --points {options.points}"))


if __name__ == "__main__":
    main()

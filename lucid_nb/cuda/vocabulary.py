"""The vocabulary on CUDA: libdevice, through `math` where Numba maps the name for float32 and float64 alike.

Kernel text calls `<entry>_<dtype>`. In the simulator a kernel is plain Python, where math.exp(1000) raises and
everything is double; there the same names are NumPy's functions, which keep dtype and IEEE results.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from ..program import NATIVE_EVERYWHERE
from . import complex as complex_functions
from . import exact
from .runtime import SIMULATED, inline
from .scalars import narrow_bfloat16, widen_bfloat16

FLOATS, COMPLEX = ("float32", "float64"), ("complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
# Entry -> the name in `math`; NumPy's name where it differs.
MATH = dict(exp="exp", expm1="expm1", log="log", log1p="log1p", sqrt="sqrt", sin="sin", cos="cos", tanh="tanh",
            erf="erf", erfc="erfc", power="pow", absolute="fabs", log2="log2", log10="log10", tan="tan", arcsin="asin",
            arccos="acos", arctan="atan", arctan2="atan2", sinh="sinh", cosh="cosh", arcsinh="asinh", arccosh="acosh",
            arctanh="atanh", hypot="hypot")
LIBDEVICE = ("exp2", "cbrt")      # which `math` lacks
NATIVE = NATIVE_EVERYWHERE | {"erfc", "hypot", "cbrt"}

if not SIMULATED:
    from numba.cuda import libdevice


def _simulated_float(entry: str, dtype: str) -> Callable:
    """NumPy's function; the error functions, which NumPy lacks, through double."""
    if entry in ("erf", "erfc"):
        cast, function = np.dtype(dtype).type, getattr(math, entry)
        return lambda x: cast(function(x))
    return getattr(np, entry)


def _simulated_frexp(part: int) -> Callable:
    return lambda x: np.frexp(x)[part]


def _device_frexp(part: int, dtype: str) -> Callable:
    """One result of libdevice's frexp, which leaves infinities, NaN and zero as they are with exponent 0."""
    split = libdevice.frexpf if dtype == "float32" else libdevice.frexp

    def mantissa(x):
        return split(x)[0]

    def exponent(x):
        return np.int32(split(x)[1])
    return inline(exponent if part else mantissa)


def _integer_power(dtype: str) -> Callable:
    """a ** b by squaring, wrapping as NumPy does; the exponent is not negative."""
    cast = np.dtype(dtype).type

    def power(a, b):
        result, base, exponent = cast(1), a, b
        while exponent > 0:
            if exponent & cast(1):
                result = cast(result * base)
            base = cast(base * base)
            exponent = cast(exponent >> cast(1))
        return result
    return inline(power)


def _integer_absolute(dtype: str) -> Callable:
    """|x|; of the lowest integer it is itself, as NumPy has it."""
    cast = np.dtype(dtype).type

    def absolute(x):
        return x if x >= cast(0) else cast(cast(0) - x)
    return inline(absolute)


def _complex_product(dtype: str) -> Callable:
    """Products that are rounded before they are added: fused, z times its conjugate would not be real."""
    if SIMULATED:
        return np.multiply
    cast, times = np.dtype(dtype).type, libdevice.fmul_rn if dtype == "complex64" else libdevice.dmul_rn

    def multiply(a, b):
        real = times(a.real, b.real) - times(a.imag, b.imag)
        return cast(complex(real, times(a.real, b.imag) + times(a.imag, b.real)))
    return inline(multiply)


def _float_functions(dtype: str) -> dict[str, Callable]:
    found = exact.of_floats(dtype)
    if SIMULATED:
        found |= {entry: _simulated_float(entry, dtype) for entry in (*MATH, *LIBDEVICE)}
        return found | dict(frexp_mantissa=_simulated_frexp(0), frexp_exponent=_simulated_frexp(1))
    found |= {entry: getattr(math, name) for entry, name in MATH.items()}
    found |= {entry: getattr(libdevice, entry + ("f" if dtype == "float32" else "")) for entry in LIBDEVICE}
    return found | dict(frexp_mantissa=_device_frexp(0, dtype), frexp_exponent=_device_frexp(1, dtype))


def _integer_functions(dtype: str) -> dict[str, Callable]:
    return exact.of_integers(dtype) | dict(power=_integer_power(dtype), absolute=_integer_absolute(dtype))


@cache
def functions(dtype: str) -> dict[str, Callable]:
    """What each entry that is not printed inline is for this dtype of registers."""
    if dtype in FLOATS:
        return _float_functions(dtype)
    if dtype in COMPLEX:
        return complex_functions.functions(dtype) | dict(multiply=_complex_product(dtype))
    return _integer_functions(dtype)


@cache
def names() -> dict[str, Any]:
    """Everything that kernel text may name."""
    dtypes = (*FLOATS, *COMPLEX, *INTEGERS)
    found = {f"{entry}_{dtype}": f for dtype in dtypes for entry, f in functions(dtype).items()}
    casts = {dtype: getattr(np, dtype) for dtype in (*dtypes, "float16")}
    in_16_bits = {name: getattr(exact, name) for name in (
        "nextafter_float16", "nextafter_bfloat16", "spacing_float16", "spacing_bfloat16")}
    return found | casts | in_16_bits | dict(
        cuda=cuda, inf=np.inf, bool=np.bool_, widen_bfloat16=widen_bfloat16, narrow_bfloat16=narrow_bfloat16,
        copysign=np.copysign if SIMULATED else math.copysign)

"""What the families of the vocabulary share: decorators, dtypes, the parts of ln 2, products with their rounding error.

Contraction (a * b + c rounded once) is allowed where a formula is right either way; reassociation never (it would
fold the rounding by a large constant), nor nnan or ninf. `exact` is for code that accounts for its own rounding errors.
"""
import numpy as np
from numba import njit

from ..intrinsics import bits, float64_from, multiply_add

f4, f8, i4, i8, u8 = np.float32, np.float64, np.int32, np.int64, np.uint64
scalar = njit(fastmath={"contract"}, error_model="numpy", forceinline=True)
exact = njit(error_model="numpy", forceinline=True)
LOG2E = 1.4426950408889634
LN2_HIGH8, LN2_LOW8 = 6.93147180369123816490e-01, 1.90821492927058770002e-10       # 33 bits and the rest
LN2_HIGH4, LN2_LOW4 = f4(0.693359375), f4(-2.12194440e-4)                           # 10 bits and the rest
HIGH_HALF = i8(-1 << 27)


def constants(dtype, text):
    """Coefficients, highest power first, as dtype."""
    return tuple(dtype(word) for word in text.split())


@exact
def two_sum(a, b):
    """a + b and its rounding error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@exact
def quick_two_sum(a, b):
    """a + b and its rounding error where |a| >= |b| or a == 0 (Dekker)."""
    s = a + b
    return s, b - (s - a)


@exact
def quotient_parts(p, p_rest, d, d_rest, inverse):
    """(p + p_rest) / (d + d_rest) as a sum of two, from a rough 1 / d.

    Where the CPU has no fused multiply-add the residual is lost, and with it 1 ULP at most.
    """
    v = p * inverse
    residual = multiply_add(-v, d, p) + (p_rest - v * d_rest)
    return v, residual * inverse


@exact
def two_product(a, b):
    """a * b and its rounding error, float64, through halves of 26 and 27 bits.

    The products of halves are exact, so that it does not matter how often `multiply_add` rounds.
    """
    product = a * b
    high_a, high_b = float64_from(bits(a) & HIGH_HALF), float64_from(bits(b) & HIGH_HALF)
    low_a, low_b = a - high_a, b - high_b
    rest = multiply_add(low_a, high_b, multiply_add(high_a, low_b, multiply_add(high_a, high_b, -product)))
    return product, multiply_add(low_a, low_b, rest)

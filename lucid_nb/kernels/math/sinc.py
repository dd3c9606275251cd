"""sinc: in half turns the reduction is exact for every number."""
import math

from ..intrinsics import bits, fabs, multiply_add, round_even
from .circular import turned_parts_float32, turned_parts_float64
from .common import exact, f4, i4, quick_two_sum, quotient_parts
from .exponential import ROUND4, ROUND8

PI4, PI_REST4, PI8, PI_REST8 = f4(math.pi), f4(-8.742278000372485e-08), math.pi, 1.2246467991473532e-16


@exact
def _times_pi(x, pi, pi_rest):
    """pi x as a sum of two."""
    high = x * pi
    return quick_two_sum(high, multiply_add(x, pi, -high) + x * pi_rest)


@exact
def _half_turns_float32(x):
    """n and pi r in two parts, x = n / 2 + r up to whole turns, |r| <= 1 / 4."""
    turn = x - f4(2) * round_even(f4(0.5) * x)
    shifted = f4(2) * turn + ROUND4
    high, rest = _times_pi(turn - f4(0.5) * (shifted - ROUND4), PI4, PI_REST4)
    return i4(bits(shifted)), high, rest


@exact
def _half_turns_float64(x):
    turn = x - 2.0 * round_even(0.5 * x)
    shifted = 2.0 * turn + ROUND8
    high, rest = _times_pi(turn - 0.5 * (shifted - ROUND8), PI8, PI_REST8)
    return bits(shifted), high, rest


@exact
def sinc_float32(x):
    """sin(pi x) / (pi x), 1 at 0. Beyond 2**24 every number is even, and the divisor does not matter."""
    n, r, rest = _half_turns_float32(fabs(x))
    s, s_rest, _, _ = turned_parts_float32(n, r, rest)
    d, d_rest = _times_pi(fabs(x) if fabs(x) < f4(16777216.0) else f4(16777216.0), PI4, PI_REST4)
    v, v_rest = quotient_parts(s, s_rest, d, d_rest, f4(1) / d)
    return f4(1) if fabs(x) < f4(1e-4) else v + v_rest


@exact
def sinc_float64(x):
    n, r, rest = _half_turns_float64(fabs(x))
    s, s_rest, _, _ = turned_parts_float64(n, r, rest)
    d, d_rest = _times_pi(fabs(x) if fabs(x) < 9007199254740992.0 else 9007199254740992.0, PI8, PI_REST8)
    v, v_rest = quotient_parts(s, s_rest, d, d_rest, 1.0 / d)
    return 1.0 if fabs(x) < 1e-9 else v + v_rest

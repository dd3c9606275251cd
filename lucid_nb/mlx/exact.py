"""Entries of the vocabulary that are exact, on MLX: rounding, remainders, bits and divisors of integers."""

from collections.abc import Callable

import mlx.core as mx
import numpy as np

from .types import constant, from_numpy, to_numpy

Call = Callable[..., mx.array]
# The integer of a float's size, and its smallest number.
WORDS = {mx.float16: (mx.int16, 2.0 ** -24), mx.bfloat16: (mx.int16, 2.0 ** -133), mx.float32: (mx.int32, 2.0 ** -149),
         mx.float64: (mx.int64, 2.0 ** -1074)}
INFINITY = float("inf")


def is_negative(x: mx.array) -> mx.array:
    """Is the sign bit set?"""
    word = WORDS[x.dtype][0]
    return x.view(word) < constant(0, word)


def copysign(x: mx.array, y: mx.array) -> mx.array:
    """The size of x with the sign of y."""
    size = mx.abs(x)
    return mx.where(is_negative(y), -size, size)


def truncate(x: mx.array) -> mx.array:
    """Without the fraction; the sign of a zero stays."""
    return mx.where(is_negative(x), mx.ceil(x), mx.floor(x))


def reciprocal(x: mx.array) -> mx.array:
    """1 / x."""
    return constant(1, x.dtype) / x


# --------------------------------------------------------------------------------------------- neighbours
def nextafter(x: mx.array, y: mx.array) -> mx.array:
    """The next number after x, on the way to y: its bits are one further, or one less."""
    word, tiny = WORDS[x.dtype]
    zero = constant(0, x.dtype)
    step = mx.where((x < y) == (x > zero), constant(1, word), constant(-1, word))
    moved = mx.where(x == zero, copysign(constant(tiny, x.dtype), y), (x.view(word) + step).view(x.dtype))
    return mx.where(mx.logical_and(x == x, y == y), mx.where(x == y, x if x.dtype == mx.float16 else y, moved), x + y)


def spacing(x: mx.array) -> mx.array:
    """To the next number away from zero, with the sign of x; of float16 to the next larger one."""
    far = constant(INFINITY, x.dtype)
    below = is_negative(x) if x.dtype == mx.bfloat16 else x < constant(0, x.dtype)
    towards = far if x.dtype == mx.float16 else mx.where(below, -far, far)
    return mx.where(mx.abs(x) < far, nextafter(x, mx.broadcast_to(towards, x.shape)) - x, x - x)


def _in_16_bits(function: Call, dtype: mx.Dtype) -> Call:
    return lambda *xs: function(*[x.astype(dtype) for x in xs]).astype(mx.float32)


IN_16_BITS = {(function.__name__, str(dtype).rpartition(".")[2]): _in_16_bits(function, dtype)
              for function in (nextafter, spacing) for dtype in (mx.float16, mx.bfloat16)}


def ldexp(x: mx.array, exponent: mx.array) -> mx.array:
    """x times a power of two, in steps of which only the last rounds."""
    word, range_, fraction = (mx.int32, 127, 23) if x.dtype == mx.float32 else (mx.int64, 1023, 52)
    n = mx.clip(exponent, constant(-3 * range_, x.dtype), constant(3 * range_, x.dtype)).astype(word)
    far, near, kept = constant(range_, word), constant(1 - range_, word), constant(fraction + 2 - range_, word)
    for _ in range(2):
        part = mx.where(n > far, far, mx.where(n < near, kept, constant(0, word)))
        x, n = x * _power_of_two(part, x.dtype), n - part
    return x * _power_of_two(mx.clip(n, near, far), x.dtype)


def _power_of_two(n: mx.array, dtype: mx.Dtype) -> mx.array:
    """2**n, n within the exponents of normal numbers."""
    bias, fraction = (127, 23) if dtype == mx.float32 else (1023, 52)
    return mx.left_shift(n + constant(bias, n.dtype), constant(fraction, n.dtype)).view(dtype)


# --------------------------------------------------------------------------------------- through the host
def _by_host(name: str) -> Call:
    """NumPy's function. MLX has no exact remainder of floats, no divisors and no bit counts."""
    function = getattr(np, name)

    def call(*xs: mx.array) -> mx.array:
        with np.errstate(all="ignore"):
            return from_numpy(function(*map(to_numpy, xs)))
    return call


# ----------------------------------------------------------------------------------------------- integers
def _divided(x: mx.array, y: mx.array) -> tuple[mx.array, mx.array, mx.array, mx.array]:
    """The floored quotient and the remainder of divisors that the CPU can divide by, and where y was 0 or -1."""
    zero, one = constant(0, x.dtype), constant(1, x.dtype)
    is_zero = y == zero
    is_minus_one = y == -one if x.dtype in SIGNED else mx.zeros_like(is_zero)
    safe = mx.where(mx.logical_or(is_zero, is_minus_one), one, y)
    quotient = mx.floor_divide(x, safe)
    return quotient, x - quotient * safe, is_zero, is_minus_one


def floor_divide(x: mx.array, y: mx.array) -> mx.array:
    """The floored quotient; 0 where y is 0, and the lowest integer by -1 is itself."""
    quotient, _, is_zero, is_minus_one = _divided(x, y)
    return mx.where(is_zero, constant(0, x.dtype), mx.where(is_minus_one, -x, quotient))


def remainder(x: mx.array, y: mx.array) -> mx.array:
    """x - y floor(x / y); 0 where y is 0."""
    return _divided(x, y)[1]


def fmod(x: mx.array, y: mx.array) -> mx.array:
    """The remainder with the sign of x; 0 where y is 0."""
    rest, zero = _divided(x, y)[1], constant(0, x.dtype)
    return mx.where(mx.logical_and(rest != zero, (rest < zero) != (x < zero)), rest - y, rest)


def reciprocal_of_integer(x: mx.array) -> mx.array:
    """1 / x without its fraction; of 0 what NumPy gives: the lowest integer, or 0 where it is short."""
    zero, one = constant(0, x.dtype), constant(1, x.dtype)
    lowest = constant(-2 ** (8 * x.itemsize - 1), x.dtype) if x.dtype in (mx.int32, mx.int64) else zero
    is_unit = mx.logical_or(x == one, x == -one) if x.dtype in SIGNED else x == one
    return mx.where(x == zero, lowest, mx.where(is_unit, x, zero))


def _is_inside(x: mx.array, count: mx.array) -> mx.array:
    return mx.logical_and(count >= constant(0, x.dtype), count < constant(8 * x.itemsize, x.dtype))


def left_shift(x: mx.array, count: mx.array) -> mx.array:
    """x << count; 0 where the count is negative or too large."""
    zero, inside = constant(0, x.dtype), _is_inside(x, count)
    return mx.where(inside, mx.left_shift(x, mx.where(inside, count, zero)), zero)


def right_shift(x: mx.array, count: mx.array) -> mx.array:
    """x >> count; the sign, or 0, where the count is negative or too large."""
    last = constant(8 * x.itemsize - 1, x.dtype)
    inside = _is_inside(x, count)
    shifted = mx.right_shift(x, mx.where(inside, count, last))
    return shifted if x.dtype in SIGNED else mx.where(inside, shifted, constant(0, x.dtype))


def _itself(x: mx.array) -> mx.array:
    return x


SIGNED = (mx.int8, mx.int16, mx.int32, mx.int64)
CALLS: dict[str, Call] = dict(
    floor=mx.floor, ceil=mx.ceil, truncate=truncate, round_even=mx.round, copysign=copysign, nextafter=nextafter,
    spacing=spacing, ldexp=ldexp, isfinite=mx.isfinite, isinf=mx.isinf, reciprocal=reciprocal,
    bitwise_and=mx.bitwise_and, bitwise_or=mx.bitwise_or, bitwise_xor=mx.bitwise_xor, left_shift=left_shift,
    right_shift=right_shift, **{name: _by_host(name) for name in ("fmod", "remainder", "floor_divide", "gcd", "lcm")},
    bit_count=_by_host("bitwise_count"), invert=mx.bitwise_invert)
_WHOLE: dict[str, Call] = dict.fromkeys(("floor", "ceil", "truncate", "round_even"), _itself)
OF_INTEGERS: dict[str, Call] = _WHOLE | dict(
    floor_divide=floor_divide, remainder=remainder, fmod=fmod, reciprocal=reciprocal_of_integer)
OF_BOOLS: dict[str, Call] = _WHOLE | dict(invert=mx.logical_not)

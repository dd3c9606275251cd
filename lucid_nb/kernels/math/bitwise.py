"""Shifts, bit counts and greatest common divisors of integers, in their own width, as NumPy has them."""
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from .common import scalar
from .integer import DTYPES


@intrinsic
def shifted_left(typing, x, count):
    """x << count, and 0 where the count is negative or as large as x has bits. In the width of x: Numba would widen."""
    def emit(context, builder, sig, args):
        width = ir.Constant(args[1].type, x.bitwidth)
        inside = builder.icmp_unsigned("<", args[1], width)
        return builder.select(inside, builder.shl(args[0], args[1]), ir.Constant(args[0].type, 0))
    return x(x, x), emit


@intrinsic
def shifted_right(typing, x, count):
    """x >> count; where the count is negative or too large, what shifting bit by bit would leave: the sign, or 0."""
    def emit(context, builder, sig, args):
        inside = builder.icmp_unsigned("<", args[1], ir.Constant(args[1].type, x.bitwidth))
        last = ir.Constant(args[1].type, x.bitwidth - 1)
        if x.signed:
            return builder.ashr(args[0], builder.select(inside, args[1], last))
        return builder.select(inside, builder.lshr(args[0], args[1]), ir.Constant(args[0].type, 0))
    return x(x, x), emit


def _counting(name: str, *more: ir.Constant) -> Callable:
    """Emit LLVM's count of bits, of the integer's own type."""
    def emit(context, builder, sig, args):
        kind = ir.FunctionType(args[0].type, [args[0].type, *[flag.type for flag in more]])
        return builder.call(builder.module.declare_intrinsic(name, [args[0].type], kind), [args[0], *more])
    return emit


@intrinsic
def ones(typing, x):
    """How many bits are 1."""
    return x(x), _counting("llvm.ctpop")


@intrinsic
def trailing_zeros(typing, x):
    """How many of the lowest bits are 0; undefined for 0."""
    return x(x), _counting("llvm.cttz", ir.Constant(ir.IntType(1), 1))


def _left_shift(dtype: Any) -> Callable:
    def left_shift(x, y):
        return shifted_left(x, y)
    return left_shift


def _right_shift(dtype: Any) -> Callable:
    def right_shift(x, y):
        return shifted_right(x, y)
    return right_shift


def _bit_count(dtype: Any) -> Callable:
    zero = dtype(0)

    def bit_count(x):
        """Of the absolute value."""
        return np.uint8(ones(dtype(-x) if x < zero else x))
    return bit_count


@scalar
def binary_gcd(a, b):
    """The greatest common divisor of two uint64 by shifts and subtractions (J. Stein, 1967); gcd(a, 0) = a."""
    if a == np.uint64(0) or b == np.uint64(0):
        return a | b
    twos = trailing_zeros(a | b)
    a >>= trailing_zeros(a)
    while b != np.uint64(0):
        b >>= trailing_zeros(b)
        low, high = min(a, b), max(a, b)
        a, b = low, high - low
    return a << twos


def _size(dtype: Any) -> Callable:
    """|x| as uint64, of the lowest integer too."""
    wide = np.int64 if np.issubdtype(dtype, np.signedinteger) else np.uint64
    zero = wide(0)

    def size(x):
        return np.uint64(-wide(x) if wide(x) < zero else wide(x))
    return scalar(size)


def _gcd(dtype: Any) -> Callable:
    size = _size(dtype)

    def gcd(x, y):
        """Not negative, but of two lowest integers, or one and 0, where it wraps."""
        return dtype(binary_gcd(size(x), size(y)))
    return gcd


def _lcm(dtype: Any) -> Callable:
    size = _size(dtype)

    def lcm(x, y):
        """|x| / gcd |y|, wrapping; 0 where either is 0."""
        a, b = size(x), size(y)
        common = binary_gcd(a, b)
        return dtype(a // (common if common != np.uint64(0) else np.uint64(1)) * b)
    return lcm


for _dtype in DTYPES:
    for _entry, _make in dict(left_shift=_left_shift, right_shift=_right_shift, bit_count=_bit_count, gcd=_gcd,
                              lcm=_lcm).items():
        globals()[f"{_entry}_{np.dtype(_dtype).name}"] = scalar(_make(_dtype))

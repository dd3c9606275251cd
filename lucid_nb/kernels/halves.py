"""float16 and bfloat16 to float32 and back, whole vectors at a time, and pairs of bfloat16 rows as one row of words."""
from collections.abc import Callable
from functools import partial

import numpy as np
from llvmlite import ir

from . import compiler, emission, memory, threads
from .copying import contiguous
from .emission import Emitter

BLOCK = 4096                                         # numbers of a unit of work
GRAIN = 16                                           # blocks
SHORT = ir.IntType(16)


def widened(x: np.ndarray) -> np.ndarray:
    """float32 of float16 or bfloat16; matrices that lie across still do."""
    if _is_left_to_numpy(x.dtype):
        return x.astype(np.float32)
    if x.ndim > 1 and x.flags.f_contiguous and not x.flags.c_contiguous:
        return widened(x.T).T
    return _converted(contiguous(x), np.dtype(np.float32), "widen", x.dtype)


def narrowed(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """float16 or bfloat16 of contiguous float32, rounded to nearest even; a NaN stays one."""
    return x.astype(dtype) if _is_left_to_numpy(dtype) else _converted(x, dtype, "narrow", dtype)


def _is_left_to_numpy(dtype: np.dtype) -> bool:
    """Without instructions for float16 LLVM would call a library."""
    return dtype == np.float16 and not compiler.has_half()


def _converted(x: np.ndarray, dtype: np.dtype, way: str, half: np.dtype) -> np.ndarray:
    result = memory.empty(x.shape, dtype)
    address = emission.kernel(f"{way} {half.name}", "float32", "pii", partial(EMITTERS[way], half.name == "float16"))
    threads.launch(address, -(-x.size // BLOCK), GRAIN, x, result, x.size)
    return result


def _blocks(e: Emitter, table: ir.Value, start: ir.Value, stop: ir.Value,
            convert: Callable[[ir.Value], ir.Value], kinds: tuple[ir.Type, ir.Type]) -> None:
    """target[i] = convert(source[i]) over blocks [start, stop), vector by vector."""
    source, target, count = e.operands(table, "ppi")
    last = e.smaller(e.mul(stop, BLOCK), count)

    def step(i: ir.Value, carried: list) -> list:
        inside = e.first(e.sub(last, i))
        value = e.load_vector(e.at(source, i, kinds[0]), inside, kind=kinds[0])
        e.store_vector(convert(value), e.at(target, i, kinds[1]), inside)
        return carried
    e.loop(e.mul(start, BLOCK), last, step, step=e.lanes)


def _widen(is_half: bool, e: Emitter, table: ir.Value, start: ir.Value, stop: ir.Value) -> None:
    words = ir.VectorType(emission.WORD, e.lanes)

    def convert(value: ir.Value) -> ir.Value:
        if is_half:
            return e.builder.fpext(e.builder.bitcast(value, ir.VectorType(ir.HalfType(), e.lanes)), e.vector)
        high = e.builder.shl(e.builder.zext(value, words), ir.Constant(words, [16] * e.lanes))
        return e.builder.bitcast(high, e.vector)
    _blocks(e, table, start, stop, convert, (SHORT, e.element))


def _narrow(is_half: bool, e: Emitter, table: ir.Value, start: ir.Value, stop: ir.Value) -> None:
    words, shorts = ir.VectorType(emission.WORD, e.lanes), ir.VectorType(SHORT, e.lanes)
    b = e.builder

    def constant(number: int) -> ir.Constant:
        return ir.Constant(words, [number] * e.lanes)

    def convert(value: ir.Value) -> ir.Value:
        if is_half:
            return b.bitcast(b.fptrunc(value, ir.VectorType(ir.HalfType(), e.lanes)), shorts)
        bits = b.bitcast(value, words)
        high = b.lshr(bits, constant(16))
        odd = b.and_(high, constant(1))
        rounded = b.lshr(b.add(b.add(bits, odd), constant(0x7FFF)), constant(16))
        is_nan = b.icmp_unsigned(">", b.and_(bits, constant(0x7FFFFFFF)), constant(0x7F800000))
        return b.trunc(b.select(is_nan, b.or_(high, constant(0x40)), rounded), shorts)
    _blocks(e, table, start, stop, convert, (e.element, SHORT))


EMITTERS = {"widen": _widen, "narrow": _narrow}


# ------------------------------------------------------------------------------------------- pairs of bfloat16
def multiplies_pairs() -> bool:
    """Has the CPU, at the width that kernels are compiled for, sums of products of pairs of bfloat16?"""
    return compiler.target_features().get("avx512bf16", False)


def words_along(x: np.ndarray) -> np.ndarray:
    """Neighbours on the last axis as one float32 word each; a last one without neighbour gets 0."""
    if x.shape[-1] % 2:
        padded = np.zeros((*x.shape[:-1], x.shape[-1] + 1), x.dtype)
        padded[..., :-1] = x
        x = padded
    is_pair = x.strides[-1] == 2 and not any(stride % 4 for stride in x.strides[:-1])
    return (x if is_pair else contiguous(x)).view(np.float32)


def words_of_rows(x: np.ndarray) -> np.ndarray:
    """(..., k, m) as (..., k / 2, m) words of two rows each; a last row without neighbour gets zeros."""
    if x.strides[-2] == 2 or x.shape[-2] % 2:
        return words_along(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    x = contiguous(x)
    *batch, rows, cols = x.shape
    result = memory.empty((*batch, rows // 2, cols), np.float32)
    address = emission.kernel("join rows", "int16", "pii", _join_rows)
    threads.launch(address, result.size // max(cols, 1), max(1, BLOCK * GRAIN // max(cols, 1)), x, result, cols)
    return result


def _join_rows(e: Emitter, table: ir.Value, start: ir.Value, stop: ir.Value) -> None:
    """Pairs of rows [start, stop): their numbers by turns."""
    source, target, cols = e.operands(table, "ppi")
    low = [lane // 2 + lane % 2 * e.lanes for lane in range(e.lanes)]
    high = [place + e.lanes // 2 for place in low]

    def pair(i: ir.Value, carried: list) -> list:
        origin = e.mul(i, e.mul(cols, 2))
        first, second, result = e.at(source, origin), e.at(source, e.add(origin, cols)), e.at(target, origin)

        def step(j: ir.Value, carried: list) -> list:
            rest = e.sub(cols, j)
            upper, lower = (e.load_vector(e.at(row, j), e.first(rest)) for row in (first, second))
            for turn, places in zip((0, e.lanes), (low, high)):
                inside = e.first(e.sub(e.mul(rest, 2), turn))
                e.store_vector(e.shuffle(upper, lower, places), e.at(result, e.add(e.mul(j, 2), turn)), inside)
            return carried
        e.loop(0, cols, step, step=e.lanes)
        return carried
    e.loop(start, stop, pair)

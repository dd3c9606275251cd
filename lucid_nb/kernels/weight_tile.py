"""The microkernel of gradients of weights in LLVM IR: sums over results, one operand in place and one packed.

The tile of sums stays in registers for a run of results, those of several images one after the other where they are
small. What is read in place begins at a table of offsets, as in correlation_tile.py, so nothing is unfolded.
"""
from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from . import block_sums, correlation_tile, emission
from . import weight_words as at
from .emission import INDEX, Emitter

BLOCK = 224                      # results of a block of sums, a multiple of common lines
NARROW_BLOCK = 32                # where filters fill one vector at most; PyTorch adds up lanes of short sums there


def address(dtype: str, rows: int, vectors: int, across: bool) -> int:
    """The address of `void tile(lines, cols, a, places, offsets, panel, c, c_row, count, adds, ahead, ahead_step)`.

    C[i, j] (+)= the sum over lines r and results k of a[places[r] + offsets[i] + k] panel[(r cols + k) w + j] for
    j < count, which is more than vectors - 1 vectors; w = vectors * lanes. C[i, j] lies at c + i c_row + j, and where
    it lies `across`, at c + j c_row + i. Meanwhile as many numbers are prefetched from each of AHEAD places, ahead_step
    numbers apart.
    """
    return emission.kernel(f"weight gradient {rows}x{vectors}" + " across" * across, dtype, "iipppppiiipi",
                           partial(multiply, rows, vectors, across))


def multiply(rows: int, vectors: int, across: bool, e: Emitter, lines: ir.Value, cols: ir.Value, a: ir.Value,
             places: ir.Value, offsets: ir.Value, panel: ir.Value, c: ir.Value, c_row: ir.Value, count: ir.Value,
             adds: ir.Value, ahead: ir.Value, ahead_step: ir.Value) -> None:
    """Each number that is read in place meets the vectors of the panel."""
    starts = [e.at(a, e.load(e.at(offsets, i, INDEX), INDEX)) for i in range(rows)]
    for i in range(vectors * e.lanes if across else rows):
        e.prefetch(e.at(c, e.mul(c_row, i)), is_written=True)

    blocks, most = block_sums.Blocks(e, rows * vectors), BLOCK if vectors > 1 else NARROW_BLOCK

    def result(place: ir.Value, k: ir.Value, carried: list) -> Sequence:
        right, coming, *sums = carried
        for i in range(at.AHEAD):
            e.prefetch(e.at(coming, e.mul(ahead_step, i)))
        operands = [e.load_vector(e.at(right, j * e.lanes)) for j in range(vectors)]
        for i, start in enumerate(starts):
            one = e.splat(e.load(e.at(start, e.add(place, k))))
            for j, operand in enumerate(operands):
                sums[i * vectors + j] = e.multiply_add(one, operand, sums[i * vectors + j])
        return [e.at(right, vectors * e.lanes), e.at(coming, 1), *sums]

    def line(r: ir.Value, carried: list) -> Sequence:
        place = e.load(e.at(places, r, INDEX), INDEX)

        def part(first: ir.Value, carried: list) -> Sequence:
            """Results of a line, up to a block: the sums so far are joined with earlier ones where it has no room."""
            joined, held, right, coming, *sums = carried
            size = e.smaller(e.sub(cols, first), most)

            def begun() -> list[ir.Value]:
                blocks.join(e.compare(joined, ">", 0), sums)
                return [e.index(1), e.index(0), *blocks.none]
            is_full = e.compare(e.add(held, size), ">", most)
            joined, held, *sums = e.either(is_full, begun, lambda: [joined, held, *sums])
            done = e.loop(0, size, partial(result, e.add(place, first)), [right, coming, *sums])
            return [joined, e.add(held, size), *done]
        return e.loop(0, cols, part, carried, most)

    joined, _, _, _, *sums = e.loop(0, lines, line, [e.index(0), e.index(0), panel, ahead, *blocks.none])
    sums = blocks.plus(e.compare(joined, ">", 0), sums)
    if across:
        for first in range(0, rows, e.lanes):
            part = min(e.lanes, rows - first)
            correlation_tile.store_across(part, vectors, e, sums[first * vectors:(first + part) * vectors],
                                          [e.at(c, first)], c_row, count, adds)
    else:
        _store_along(vectors, e, sums, c, c_row, count, adds)


def _store_along(vectors: int, e: Emitter, sums: Sequence[ir.Value], c: ir.Value, c_row: ir.Value, count: ir.Value,
                 adds: ir.Value) -> None:
    """Store the rows of sums, or add them to what is there."""
    masks = [None] * (vectors - 1) + [e.first(e.sub(count, (vectors - 1) * e.lanes))]
    places = [(e.at(c, e.add(e.mul(c_row, i // vectors), i % vectors * e.lanes)), masks[i % vectors])
              for i in range(len(sums))]

    def added() -> list[ir.Value]:
        return [e.add(e.load_vector(place, mask), value) for value, (place, mask) in zip(sums, places)]
    for value, (place, mask) in zip(e.either(e.compare(adds, "!=", 0), added, lambda: sums), places):
        e.store_vector(value, place, mask)

"""Microkernels of matrix products in LLVM IR: a tile of C in registers, and the packing of the panels that it reads.

The loops around them, in loops/gemm.py, are those of Goto and van de Geijn ("Anatomy of high-performance matrix
multiplication", ACM TOMS 34, 2008) and of BLIS (Van Zee and van de Geijn, ACM TOMS 41, 2015). A panel of A holds the
rows of a tile, a panel of B its columns, both with k outermost, so that a tile reads them from end to end.

Each number of a tile is added up in the order of k, in blocks of k that are the same whatever the tile's shape: where a
matrix is cut into tiles changes no bit of the product. Unrolling the loop over k and LLVM's optimiser change nothing
either, since multiplications decide the time of a step: without them a tile is compiled in a third of the time.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from llvmlite import ir
from llvmlite.ir import Value

from . import block_sums, emission
from .emission import Emitter

# What a tile does when its sums are complete, as bits of `mode`.
ACCUMULATE, COLUMN_BIAS, ROW_BIAS, ACTIVATE = 1, 2, 4, 8
CALLED = "ipiipipiiip"           # what a tile is called with


@dataclass(frozen=True)
class Tile:
    """The shape of a tile and how its operands lie.

    a and b: "panel" (packed, one of B padded to whole vectors) or "strided". `is_masked`: the last vector of a row may
    be a part of one. `activation`: "" or "relu".
    """

    dtype: str
    rows: int
    vectors: int
    a: str = "strided"
    b: str = "strided"
    is_masked: bool = True
    activation: str = ""
    pairs: bool = False                  # each float32 is two bfloat16, whose products are added
    block: int = 0                       # steps of k in a block of sums (block_sums.py); 0: all, however many

    @property
    def name(self) -> str:
        """What the store knows it by."""
        return (f"tile {self.rows}x{self.vectors} {self.a} {self.b} {self.activation}"
                + " masked" * self.is_masked + " pairs" * self.pairs + f" blocks of {self.block}" * bool(self.block))


def address(tile: Tile) -> int:
    """The address of `void tile(k, a, a_row, a_step, b, b_row, c, c_row, cols, mode, bias)`, steps in numbers.

    C[i, j] = sum over k of A[i, k] B[k, j], A[i, k] at a + i a_row + k a_step, B[k, j] at b + k b_row + j.
    """
    return emission.kernel(tile.name, tile.dtype, CALLED, partial(multiply, tile), optimise=False)


def multiply(tile: Tile, e: Emitter, depth: Value, a: Value, a_row: Value, a_step: Value, b: Value, b_row: Value,
             c: Value, c_row: Value, cols: Value, mode: Value, bias: Value) -> None:
    """The tile, from the first step of k to the stores."""
    last = e.first(e.sub(cols, (tile.vectors - 1) * e.lanes)) if tile.is_masked else None
    if tile.a == "panel":
        a_row, a_step = 1, tile.rows
    if tile.b == "panel":
        b_row = tile.vectors * e.lanes
    result_rows = [e.at(c, e.mul(c_row, i)) for i in range(tile.rows)]
    for row in result_rows:
        e.prefetch(row, is_written=True)

    add = e.add_pairs if tile.pairs else e.multiply_add

    def step(_: Value, carried: list) -> Sequence:
        left, right, *sums = carried
        operands = _row_of_b(tile, e, right, last)
        for i in range(tile.rows):
            one = e.splat(e.load(e.at(left, e.mul(a_row, i) if i else 0)))
            for j, operand in enumerate(operands):
                place = i * tile.vectors + j
                sums[place] = add(one, operand, sums[place])
        return [e.at(left, a_step), e.at(right, b_row), *sums]

    count = tile.rows * tile.vectors
    if tile.block:
        sums = block_sums.summed(e, depth, step, [a, b], count, 1, tile.block)
    else:
        sums = e.loop(0, depth, step, [a, b, *[e.zero()] * count])[2:]
    _finish(tile, e, sums, result_rows, last, mode, bias)


def _row_of_b(tile: Tile, e: Emitter, row: Value, last: Value | None) -> list[Value]:
    """The vectors of one k of B; a panel is padded, so that it needs no mask."""
    masks = [None] * (tile.vectors - 1) + [None if tile.b == "panel" else last]
    return [e.load_vector(e.at(row, j * e.lanes), mask) for j, mask in enumerate(masks)]


def _finish(tile: Tile, e: Emitter, sums: Sequence[Value], rows: Sequence[Value], last: Value | None, mode: Value,
            bias: Value) -> None:
    """Add what `mode` says (C itself, a bias of columns or of rows), activate, store."""
    places = [(row, j, last if j == tile.vectors - 1 else None) for row in rows for j in range(tile.vectors)]

    def accumulated(sums: Sequence[Value]) -> list[Value]:
        before = [e.load_vector(e.at(row, j * e.lanes), mask) for row, j, mask in places]
        return list(map(e.add, before, sums))

    def with_column_bias(sums: Sequence[Value]) -> list[Value]:
        added = [e.load_vector(e.at(bias, j * e.lanes), mask) for _, j, mask in places[:tile.vectors]]
        return list(map(e.add, sums, added * tile.rows))

    def with_row_bias(sums: Sequence[Value]) -> list[Value]:
        added = [e.splat(e.load(e.at(bias, i))) for i in range(tile.rows)]
        return [e.add(value, added[number // tile.vectors]) for number, value in enumerate(sums)]

    def activated(sums: Sequence[Value]) -> list[Value]:
        return [rectified(e, value, e.zero()) for value in sums]

    stages = [(ACCUMULATE, accumulated), (COLUMN_BIAS, with_column_bias), (ROW_BIAS, with_row_bias)]
    for bit, stage in stages + [(ACTIVATE, activated)] * bool(tile.activation):
        sums = e.either(_is_set(e, mode, bit), partial(stage, sums), partial(list, sums))
    for value, (row, j, mask) in zip(sums, places):
        e.store_vector(value, e.at(row, j * e.lanes), mask)


def rectified(e: Emitter, value: Value, zero: Value) -> Value:
    """The value, or 0 where it is not above it; NaN stays."""
    return e.choose(e.compare(value, "<=", zero), zero, value)


def _is_set(e: Emitter, mode: Value, bit: int) -> Value:
    """Has `mode` this bit?"""
    return e.compare(e.builder.and_(mode, e.index(bit)), "!=", 0)


# -------------------------------------------------------------------------------------------- inner products
def inner_address(tile: Tile) -> int:
    """The address of a tile of inner products, called as others, where both operands lie along k.

    C[i, j] = sum over k of A[i, k] B[k, j], A[i, k] at a + i a_row + k, B[k, j] at b + k + j b_row. Nothing is packed,
    and vectors run along k. `vectors` counts columns.
    """
    return emission.kernel(f"inner {tile.name}", tile.dtype, CALLED, partial(multiply_inner, tile),
                           optimise=False)


def multiply_inner(tile: Tile, e: Emitter, depth: Value, a: Value, a_row: Value, _: Value, b: Value, b_row: Value,
                   c: Value, c_row: Value, cols: Value, mode: Value, bias: Value) -> None:
    """Sums of vectors, whose lanes are added at the end."""
    starts = [e.at(a, e.mul(a_row, i)) for i in range(tile.rows)]
    starts += [e.at(b, e.mul(b_row, j)) for j in range(tile.vectors)]

    add = e.add_pairs if tile.pairs else e.multiply_add

    def step(k: Value, sums: list, mask: Value | None = None) -> Sequence:
        operands = [e.load_vector(e.at(start, k), mask) for start in starts]
        pairs = [(left, right) for left in operands[:tile.rows] for right in operands[tile.rows:]]
        return [add(left, right, total) for (left, right), total in zip(pairs, sums)]

    rest = e.remainder(depth, e.lanes)
    whole = e.sub(depth, rest)
    sums = e.loop(0, whole, step, [e.zero()] * (tile.rows * tile.vectors), e.lanes)
    sums = e.either(e.compare(rest, ">", 0), lambda: step(whole, sums, e.first(rest)), lambda: sums)
    _store_totals(tile, e, sums, c, c_row, mode, bias)


def _store_totals(tile: Tile, e: Emitter, sums: Sequence[Value], c: Value, c_row: Value, mode: Value,
                  bias: Value) -> None:
    """Add the lanes of each sum, and what `mode` says; store number by number."""
    nothing = e.local(1)                              # read in the place of what is not to be added: no branches
    e.store(e.number(0), nothing)
    for first in range(0, len(sums), e.lanes):
        group = sums[first:first + e.lanes]
        totals = e.totals(group)
        for lane in range(len(group)):
            i, j = divmod(first + lane, tile.vectors)
            place = e.at(c, e.add(e.mul(c_row, i), j))
            value = e.builder.extract_element(totals, ir.Constant(emission.WORD, lane))
            for bit, source in ((ACCUMULATE, place), (COLUMN_BIAS, e.at(bias, j)), (ROW_BIAS, e.at(bias, i))):
                value = e.add(value, e.load(e.choose(_is_set(e, mode, bit), source, nothing)))
            if tile.activation:
                value = e.choose(_is_set(e, mode, ACTIVATE), rectified(e, value, e.number(0)), value)
            e.store(value, place)


# ---------------------------------------------------------------------------------------------------- packing
def pack_address(dtype: str, width: int, across: bool) -> int:
    """The address of `void pack(depth, source, step, panel, cols)`: a panel with k outermost, `width` numbers a k.

    Number j of step k lies at source + k step + j, or where the source lies `across` at source + j step + k. Of the
    panel's width `cols` come from the source; those up to the next whole vector are zeros, or any numbers if `across`.
    Up to a vector after the panel may be written too.
    """
    emit = pack_across if across else pack_along
    return emission.kernel(f"{emit.__name__} {width}", dtype, "ipipi", partial(emit, width))


def pack_along(width: int, e: Emitter, depth: Value, source: Value, step: Value, panel: Value, cols: Value) -> None:
    """Copy rows of `width` numbers, the rest of the last vector zeros. Stores run over into the next k."""
    vectors = -(-width // e.lanes)
    masks = [e.first(e.sub(cols, j * e.lanes)) for j in range(vectors)]

    def row(_: Value, carried: list) -> Sequence:
        origin, target = carried
        for j, mask in enumerate(masks):
            e.store_vector(e.load_vector(e.at(origin, j * e.lanes), mask), e.at(target, j * e.lanes))
        return [e.at(origin, step), e.at(target, width)]
    e.loop(0, depth, row, [source, panel])


def pack_across(width: int, e: Emitter, depth: Value, source: Value, step: Value, panel: Value, cols: Value) -> None:
    """Transpose blocks of a vector of k by a vector of rows in registers.

    The last rows come first: where they do not fill a vector, their stores run over into the next k.
    """
    def blocks(k: Value, rest: Value | None) -> None:
        for j in reversed(range(0, width, e.lanes)):
            _transposed_block(e, width, min(e.lanes, width - j), e.at(source, e.add(k, e.mul(step, j))), step,
                              e.at(panel, e.add(e.mul(k, width), j)), e.sub(cols, j), rest)

    def whole(k: Value, carried: list) -> Sequence:
        blocks(k, None)
        return carried
    rest = e.remainder(depth, e.lanes)
    e.loop(0, e.sub(depth, rest), whole, step=e.lanes)
    with e.when(e.compare(rest, ">", 0)):
        blocks(e.sub(depth, rest), rest)


def _transposed_block(e: Emitter, width: int, rows: int, source: Value, step: Value, panel: Value, cols: Value,
                      depth: Value | None) -> None:
    """One block; of `depth` steps of k, or of a whole vector of them. Rows from `cols` on repeat the last row."""
    mask = None if depth is None else e.first(depth)
    last = e.sub(cols, 1)
    last = e.choose(e.compare(last, "<", 0), 0, last)
    loaded = [e.load_vector(e.at(source, e.mul(step, e.smaller(i, last) if i else 0)), mask) for i in range(rows)]
    for k, value in enumerate(e.transpose(loaded)):
        target = e.at(panel, k * width)
        if depth is None:
            e.store_vector(value, target)
        else:
            with e.when(e.compare(k, "<", depth)):
                e.store_vector(value, target)

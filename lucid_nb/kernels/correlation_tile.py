"""Microkernels of convolutions in LLVM IR: filters by neighbouring results, whose operands lie where a table says.

As in a matrix product (microkernel.py) a tile of sums stays in registers while the taps are gone through, but the rows
of the right operand are not packed: row k begins at `offsets[k]` from the first result's place in the planes, where the
vectors of neighbouring results lie side by side. So nothing is unfolded. The direct convolution in registers is that of
Georganas et al. ("Anatomy of high-performance deep learning convolutions on SIMD architectures", SC 2018), with results
where they have channels in the vectors, since NumPy's and PyTorch's memory has the channels outside.
"""
from collections.abc import Sequence
from functools import partial
from itertools import product

from llvmlite import ir

from . import block_sums, emission
from .emission import INDEX, Emitter

Clips = tuple[tuple[int, int], ...]
UNROLL = 4                       # taps in a turn of the loop
MOST_VECTORS = 4                 # of filters in a tile
FEW_BLOCK = 32                   # products in a block of sums where filters are few; PyTorch adds up sums for each tap


def forward_shape() -> tuple[int, int]:
    """The filters and vectors of results of the largest tile: with their operands the sums fill the registers."""
    return (14, 2) if emission.registers() == 32 else (6, 2)


def forward_address(dtype: str, rows: int, vectors: int) -> int:
    """The address of `void tile(taps, panel, x, offsets, c, c_row, cols)`.

    C[i, j] = the sum over k of panel[k rows + i] x[offsets[k] + j] for j < cols, which is more than
    vectors - 1 vectors; C[i, j] at c + i c_row + j.
    """
    return emission.kernel(f"correlate {rows}x{vectors}", dtype, "ippppii", partial(forward, rows, vectors))


def forward(rows: int, vectors: int, e: Emitter, taps: ir.Value, panel: ir.Value, x: ir.Value, offsets: ir.Value,
            c: ir.Value, c_row: ir.Value, cols: ir.Value) -> None:
    """Filters are the rows: each number of the panel meets vectors of neighbouring results."""
    masks = [None] * (vectors - 1) + [e.first(e.sub(cols, (vectors - 1) * e.lanes))]

    def step(k: ir.Value, carried: list) -> Sequence:
        left, *sums = carried
        place = e.at(x, e.load(e.at(offsets, k, INDEX), INDEX))
        operands = [e.load_vector(e.at(place, j * e.lanes), mask) for j, mask in enumerate(masks)]
        for i in range(rows):
            one = e.splat(e.load(e.at(left, i)))
            for j, operand in enumerate(operands):
                sums[i * vectors + j] = e.multiply_add(one, operand, sums[i * vectors + j])
        return [e.at(left, rows), *sums]

    sums = block_sums.summed(e, taps, step, [panel], rows * vectors, UNROLL, FEW_BLOCK)
    for i in range(rows):
        for j, mask in enumerate(masks):
            e.store_vector(sums[i * vectors + j], e.at(c, e.add(e.mul(c_row, i), j * e.lanes)), mask)


def across_shape(dtype: str, width: int) -> tuple[int, int, int]:
    """For rows of so many results: the neighbouring results and vectors of filters of a tile, and how many rows one
    tile may take where they are short."""
    sums = 28 if emission.registers() == 32 else 12
    widest = min(sums // 2, emission.lanes(dtype))
    results, rows = -(-width // -(-width // widest)), max(1, widest // width)
    return results, max(1, min(MOST_VECTORS, sums // (results * rows))), rows


def across_address(dtype: str, rows: int, results: int, vectors: int, clips: Clips) -> int:
    """The address of `void tile(turns, panel, x, table, c, c_row, filters, adds, places)`.

    C[f, r, j] (+)= the sum over taps k of panel[k w + f] x_r[offset of k + j] for f < filters, which is more than
    vectors - 1 vectors; w = vectors * lanes. Row r begins places[2r] elements after x, and C[f, r, j] lies at
    c + places[2r + 1] + f c_row + j. Taps come in turns of one for each of `clips`, which says for which results j of
    a row it is not known to read zeros; of each turn the table has the number of the first tap, whose others follow
    it, and the offset of each.
    """
    return emission.kernel(f"correlate across {rows}x{results}x{vectors} {clips}", dtype, "ippppiiip",
                           partial(across, rows, results, vectors, clips))


def across(rows: int, results: int, vectors: int, clips: Clips, e: Emitter, turns: ir.Value, panel: ir.Value,
           x: ir.Value, table: ir.Value, c: ir.Value, c_row: ir.Value, filters: ir.Value, adds: ir.Value,
           places: ir.Value) -> None:
    """Results are the rows of the tile: each number that a tap reads meets the vectors of filters."""
    at_row = [e.load(e.at(places, word, INDEX), INDEX) for word in range(2 * rows)]
    starts = [e.at(x, offset) for offset in at_row[::2]]

    def turn(_: ir.Value, carried: list) -> Sequence:
        words, *sums = carried
        right = e.at(panel, e.mul(e.load(words, INDEX), vectors * e.lanes))
        for t, (first, stop) in enumerate(clips):
            tap = e.load(e.at(words, t + 1, INDEX), INDEX)
            operands = [e.load_vector(e.at(right, (t * vectors + v) * e.lanes)) for v in range(vectors)]
            for (r, start), j in product(enumerate(starts), range(first, stop)):
                one, place = e.splat(e.load(e.at(e.at(start, tap), j))), (r * results + j) * vectors
                for v, operand in enumerate(operands):
                    sums[place + v] = e.multiply_add(one, operand, sums[place + v])
        return [e.at(words, len(clips) + 1, INDEX), *sums]

    sums = block_sums.summed(e, turns, turn, [table], rows * results * vectors, max(1, UNROLL // len(clips)),
                             block_sums.BLOCK // len(clips))
    targets = [e.at(c, e.sub(offset, r * results)) for r, offset in enumerate(at_row[1::2])]
    store_across(rows * results, vectors, e, sums, targets, c_row, filters, adds)


def store_across(count: int, vectors: int, e: Emitter, sums: Sequence[ir.Value], targets: Sequence[ir.Value],
                 c_row: ir.Value, filters: ir.Value, adds: ir.Value) -> None:
    """Transpose the sums, so that those of a filter lie side by side, and store or add the ones of each filter: of the
    `count` lanes an equal share to each target."""
    share = count // len(targets)
    masks = [e.between(r * share, (r + 1) * share) for r in range(len(targets))]
    for v in range(vectors):
        for lane, value in enumerate(e.transpose([sums[t * vectors + v] for t in range(count)])):
            number = v * e.lanes + lane
            with e.when(e.compare(number, "<", filters)):
                # All are loaded before any is stored: a masked load waits for a store that overlaps its other lanes.
                places = [e.at(target, e.mul(c_row, number)) for target in targets]
                before, = e.either(e.compare(adds, "!=", 0), partial(_loaded, e, places, masks), partial(_zeros, e))
                total = e.add(before, value)
                for place, inside in zip(places, masks):
                    e.store_vector(total, place, inside)


def _loaded(e: Emitter, places: Sequence[ir.Value], masks: Sequence[ir.Value]) -> list[ir.Value]:
    """The lanes of each mask from its place."""
    found = None
    for place, inside in zip(places, masks):
        found = e.load_vector(place, inside, found)
    return [found]


def _zeros(e: Emitter) -> list[ir.Value]:
    return [ir.Constant(e.vector, [-0.0 if e.is_float else 0] * e.lanes)]      # adding -0 changes no bit


# ---------------------------------------------------------------------------------------------------- planes
def rows_address(dtype: str, stride: int) -> int:
    """The address of `void rows(count, source, source_row, target, pitch, place, taken)` for strides 1 and 2.

    Each row of the target is `place` zeros, `taken` elements of a row of the source, of which every stride-th is taken,
    and zeros up to the pitch.
    """
    return emission.kernel(f"rows of planes {stride}", dtype, "ipipiii", partial(rows_of_planes, stride))


def rows_of_planes(stride: int, e: Emitter, count: ir.Value, source: ir.Value, source_row: ir.Value, target: ir.Value,
                   pitch: ir.Value, place: ir.Value, taken: ir.Value) -> None:
    """Vectors whose lanes outside of what is taken are masked to zeros."""
    def part(line: ir.Value, j: ir.Value, number: int) -> ir.Value:
        """The source's vector `number` of those that the target's at j is made of."""
        first, skipped = e.sub(e.mul(e.sub(place, j), stride), number * e.lanes), e.mul(e.sub(j, place), stride)
        stop = e.add(first, e.sub(e.mul(taken, stride), stride - 1))
        inside = e.builder.and_(e.first(stop), e.builder.not_(e.first(first)))
        return e.load_vector(e.at(line, e.add(skipped, number * e.lanes)), inside)

    def row(_: ir.Value, carried: list) -> Sequence:
        line, to = carried

        def vector(j: ir.Value, nothing: list) -> Sequence:
            value = part(line, j, 0)
            if stride == 2:
                value = e.shuffle(value, part(line, j, 1), range(0, 2 * e.lanes, 2))
            e.store_vector(value, e.at(to, j), e.first(e.sub(pitch, j)))
            return nothing
        e.loop(0, pitch, vector, step=e.lanes)
        return [e.at(line, source_row), e.at(to, pitch)]
    e.loop(0, count, row, [source, target])

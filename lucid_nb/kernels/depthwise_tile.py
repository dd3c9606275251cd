"""Microkernels of convolutions with few channels in a group, in LLVM IR: neighbouring results of a filter in registers.

There is no matrix product in a depthwise convolution, so registers hold rows by vectors of results of one filter; each
vector of the input is loaded once for all the taps and rows that read it (Georganas et al., SC 2018, block registers
alike). The taps are known when a tile is made, and only where the planes lie is given at run time. What they read lies
in planes (depthwise.py), along which neighbouring results read neighbouring elements, whatever stride and dilation are.
"""
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from llvmlite import ir

from . import emission
from .emission import INDEX, Emitter

LEAST_SUMS = 4                   # that hide the latency of their additions
COLUMN_PRODUCTS = 32             # multiply-adds of vectors in a turn of the loop over the columns of a kernel


class Tap(NamedTuple):
    """What the first result reads: a plane, a row and a column of it; and the number of the weight."""

    plane: int
    row: int
    column: int
    number: int


@dataclass(frozen=True)
class Tile:
    """`rows` rows by `vectors` vectors of results, and the taps of each remainder of the columns of results.

    The number of a tap is its row of the kernel * kernel_columns + its column. Results of several remainders, those of
    the gradient of a strided convolution, are woven into each other. `layers`: whether the taps are gone through again
    in several layers of planes (channels, depths), or once.
    """

    dtype: str
    rows: int
    vectors: int
    classes: tuple[tuple[Tap, ...], ...]
    kernel_columns: int
    layers: bool = False

    @property
    def keeps_weights(self) -> bool:
        """Is there room in the registers for all weights besides the sums?"""
        count = sum(map(len, self.classes))
        return not self.layers and count + len(self.classes) * self.rows * self.vectors + 2 <= emission.registers()


def most_results() -> int:
    """Vectors of results of the largest tile: as many as hide the latency of their additions, or fit."""
    return 8 if emission.registers() == 32 else 6


def address(tile: Tile) -> int:
    """The address of `void tile(rows, cols, layers, x, area, pitch, places, w, w_places, out, out_row, width)`.

    Results [0, rows) by [0, cols) of each remainder, woven into `width` columns of out at steps of `out_row`. Layer i
    begins at x + places[i], its weights at w + w_places[i]; a plane has `area` elements, its rows `pitch`.
    """
    name = f"depthwise {tile.rows}x{tile.vectors} {tile.kernel_columns} {tile.layers} {_text(tile.classes)}"
    # Where the memory of weights may overlap the results, weights that have no register are not kept on the stack.
    return emission.kernel(name, tile.dtype, "iiipiippppii", partial(correlate, tile), aliases=not tile.keeps_weights)


def _text(classes: tuple[tuple[Tap, ...], ...]) -> str:
    return "/".join(" ".join(",".join(map(str, tap)) for tap in taps) for taps in classes)


def correlate(tile: Tile, e: Emitter, rows: ir.Value, cols: ir.Value, layers: ir.Value, x: ir.Value, area: ir.Value,
              pitch: ir.Value, places: ir.Value, weights: ir.Value, weight_places: ir.Value, out: ir.Value,
              out_row: ir.Value, width: ir.Value) -> None:
    """Tiles row by row; rows and columns beyond the last are computed and not stored."""
    remainders = len(tile.classes)

    def taps_of(layer: ir.Value | int) -> tuple[ir.Value, ir.Value]:
        return (e.at(x, e.load(e.at(places, layer, INDEX), INDEX)),
                e.at(weights, e.load(e.at(weight_places, layer, INDEX), INDEX)))
    first, first_weights = taps_of(0)

    def tile_at(row: ir.Value, col: ir.Value, carried: list) -> Sequence:
        sums: Sequence = [e.zero()] * (remainders * tile.rows * tile.vectors)
        start = e.add(e.mul(row, pitch), col)
        if tile.layers:
            def layer(number: ir.Value, sums: list) -> Sequence:
                corner, weight = taps_of(number)
                return add_taps(tile, e, e.at(corner, start), area, pitch, weight, sums)
            sums = e.loop(0, layers, layer, sums)
        else:
            sums = add_taps(tile, e, e.at(first, start), area, pitch, first_weights, sums)
        left = e.mul(col, remainders)
        store(tile, e, sums, e.at(out, e.add(e.mul(row, out_row), left)), out_row, e.sub(width, left), e.sub(rows, row))
        return carried

    def row_of_tiles(row: ir.Value, carried: list) -> Sequence:
        e.loop(0, cols, partial(tile_at, row), step=tile.vectors * e.lanes)
        return carried
    e.loop(0, rows, row_of_tiles, step=tile.rows)


def add_taps(tile: Tile, e: Emitter, corner: ir.Value, area: ir.Value, pitch: ir.Value, weights: ir.Value,
             sums: Sequence[ir.Value]) -> list[ir.Value]:
    """The sums with what the taps read at a corner of the planes. Each result adds its taps in the same order."""
    step = tile.rows * tile.vectors
    found: list[ir.Value] = []
    for number, taps in enumerate(tile.classes):
        here = list(sums[number * step:(number + 1) * step])
        for run in [Run(taps)] if tile.keeps_weights else alike(taps, tile.kernel_columns):
            def column(k: ir.Value, sums: list, run: Run = run) -> list:
                return _add_column(tile, e, run.taps, e.at(corner, e.mul(k, run.column_step)), area, pitch,
                                   e.at(weights, e.mul(k, run.number_step)), sums)
            # A loop also keeps LLVM from loading everything at the beginning, for which there are no registers.
            times = min(run.columns, COLUMN_PRODUCTS // max(1, len(run.taps) * step))
            here = e.unrolled(run.columns, column, here, max(1, times)) if run.columns > 1 else column(e.index(0), here)
        found += here
    return found


class Run(NamedTuple):
    """Columns of a kernel that read alike: the taps of the first one, and how offsets and numbers go on from there."""

    taps: Sequence[Tap]
    columns: int = 1
    column_step: int = 0
    number_step: int = 0


def alike(taps: Sequence[Tap], kernel_columns: int) -> list[Run]:
    """The columns of a kernel in runs: they read the same planes and rows, at offsets in arithmetic progression."""
    columns: dict[int, list[Tap]] = {}
    for tap in taps:
        columns.setdefault(tap.number % kernel_columns, []).append(tap)
    groups: dict[tuple, list[list[Tap]]] = {}
    for _, column in sorted(columns.items()):
        pattern = tuple((tap.plane, tap.row, tap.number - column[0].number) for tap in column)
        groups.setdefault(pattern, []).append(column)
    runs = []
    for first, *others in groups.values():
        steps = (others[0][0].column - first[0].column, others[0][0].number - first[0].number) if others else (0, 0)
        runs.append(Run(first, 1 + len(others), *steps))
    return runs


def _add_column(tile: Tile, e: Emitter, taps: Sequence[Tap], corner: ir.Value, area: ir.Value, pitch: ir.Value,
                weights: ir.Value, sums: Sequence[ir.Value]) -> list[ir.Value]:
    """The sums with these taps: each vector is loaded once for all rows of results that read it."""
    sums = list(sums)
    ones: dict[int, ir.Value] = {}
    for (plane, column, row), users in _loads(taps, tile.rows, by_rows=tile.keeps_weights):
        line = e.at(corner, e.add(e.add(e.mul(area, plane), e.mul(pitch, row)), column))
        operands = [e.load_vector(e.at(line, v * e.lanes)) for v in range(tile.vectors)]
        for tap, r in users:
            if tap.number not in ones:
                ones[tap.number] = e.splat(e.load(e.at(weights, tap.number)))
            for v, operand in enumerate(operands):
                place = r * tile.vectors + v
                sums[place] = e.multiply_add(ones[tap.number], operand, sums[place])
    return sums


def _loads(taps: Sequence[Tap], rows: int, by_rows: bool) -> Iterator[tuple[tuple[int, int, int], list]]:
    """(plane, column, row) of each vector that `rows` rows of results read, and who reads it: (tap, row of results).

    By rows where weights are in registers; otherwise by columns, so that few weights are in use at a time.
    """
    found: dict[tuple[int, int, int], list] = {}
    for tap in taps:
        for r in range(rows):
            found.setdefault((tap.plane, tap.column, tap.row + r), []).append((tap, r))
    return iter(sorted(found.items(), key=lambda item: (item[0][0], item[0][2], item[0][1]) if by_rows else item[0]))


def store(tile: Tile, e: Emitter, sums: Sequence[ir.Value], corner: ir.Value, out_row: ir.Value, width: ir.Value,
          rows: ir.Value) -> None:
    """Weave the remainders, and store what lies inside `rows` by `width`."""
    count, step = len(tile.classes), tile.rows * tile.vectors
    masks = [e.first(e.sub(width, i * e.lanes)) for i in range(count * tile.vectors)]

    def store_row(r: int) -> None:
        line = e.at(corner, e.mul(out_row, r))
        for v in range(tile.vectors):
            for i, value in enumerate(woven(e, sums[r * tile.vectors + v::step])):
                e.store_vector(value, e.at(line, (v * count + i) * e.lanes), masks[v * count + i])
    store_row(0)
    for r in range(1, tile.rows):
        with e.when(e.compare(r, "<", rows)):
            store_row(r)


def woven(e: Emitter, values: Sequence[ir.Value]) -> list[ir.Value]:
    """The lanes of the vectors in turns: the first of each, the second of each ..."""
    turns = [divmod(place, len(values))[::-1] for place in range(len(values) * e.lanes)]
    return [picked(e, values, turns[first:first + e.lanes]) for first in range(0, len(turns), e.lanes)]


def picked(e: Emitter, values: Sequence[ir.Value], wanted: Sequence[tuple[int, int]]) -> ir.Value:
    """The vector of lanes (number of a vector, lane of it)."""
    if len(values) == 1:
        return e.shuffle(values[0], values[0], [lane for _, lane in wanted])
    made = e.shuffle(values[0], values[1], [number % 2 * e.lanes + lane for number, lane in wanted])
    for at in range(2, len(values)):
        made = e.shuffle(made, values[at], [e.lanes + lane if number == at else here
                                            for here, (number, lane) in enumerate(wanted)])
    return made


# ------------------------------------------------------------------------------------------------------ planes
def deal_address(dtype: str, stride: int, phases: tuple[int, ...]) -> int:
    """The address of `void deal(before, stop, rows, source, source_row, start, width, target, area, pitch)`.

    Rows of planes, one plane for each phase: element j of row i is element start + stride j + phase of the source's row
    at source + i source_row, zero where that is outside [0, width) and in rows outside [before, stop). A row has
    `pitch` elements, whole vectors.
    """
    return emission.kernel(f"deal {stride} {phases}", dtype, "iiipiiipii", partial(deal, stride, phases))


def deal(stride: int, phases: tuple[int, ...], e: Emitter, before: ir.Value, stop: ir.Value, rows: ir.Value,
         source: ir.Value, source_row: ir.Value, start: ir.Value, width: ir.Value, target: ir.Value, area: ir.Value,
         pitch: ir.Value) -> None:
    """Row by row where all vectors but the first and the last are whole, otherwise column by column of vectors."""
    step, last = stride * e.lanes, e.sub(pitch, e.lanes)

    def masks_at(j: ir.Value | int) -> list[ir.Value]:
        left = e.add(start, e.mul(j, stride))
        places = [e.add(left, number * e.lanes) for number in range(stride)]
        return [between(e, e.sub(0, place), e.sub(width, place)) for place in places]

    def put(j: ir.Value | int, values: Sequence[ir.Value], i: ir.Value, carried: list) -> list:
        place = e.add(e.mul(i, pitch), j)
        for number, value in enumerate(values):
            e.store_vector(value, e.at(target, e.add(place, e.mul(area, number))))
        return carried

    def move(j: ir.Value | int, masks: Sequence, i: ir.Value, carried: list) -> list:
        line = e.at(source, e.add(e.mul(i, source_row), e.add(start, e.mul(j, stride))))
        loaded = [e.load_vector(e.at(line, number * e.lanes), mask) for number, mask in enumerate(masks)]
        return put(j, [picked(e, loaded, [divmod(phase + stride * lane, e.lanes) for lane in range(e.lanes)])
                       for phase in phases], i, carried)

    def column(j: ir.Value, carried: list) -> list:
        clear = partial(put, j, [e.zero()] * len(phases))
        e.loop(0, before, clear)
        e.loop(stop, rows, clear)
        return e.loop(before, stop, partial(move, j, masks_at(j)), carried)

    def cleared_row(i: ir.Value, carried: list) -> list:
        return e.loop(0, pitch, lambda j, carried: put(j, [e.zero()] * len(phases), i, carried), carried, e.lanes)

    def by_rows() -> list:
        ends = masks_at(0), masks_at(last)

        def row(i: ir.Value, carried: list) -> list:
            move(0, ends[0], i, carried)
            e.loop(e.lanes, last, lambda j, carried: move(j, [None] * stride, i, carried), (), e.lanes)
            return move(last, ends[1], i, carried)
        e.loop(0, before, cleared_row)
        e.loop(stop, rows, cleared_row)
        return e.loop(before, stop, row)

    is_whole = e.builder.and_(e.compare(e.add(start, step), ">=", 0),
                              e.compare(e.add(start, e.mul(last, stride)), "<=", width))
    e.either(e.builder.and_(is_whole, e.compare(last, ">", e.lanes)), by_rows,
             lambda: e.loop(0, pitch, column, step=e.lanes))


def between(e: Emitter, first: ir.Value, stop: ir.Value) -> ir.Value:
    """The mask of lanes [first, stop)."""
    return e.builder.and_(e.first(stop), e.builder.not_(e.first(first)))


# ---------------------------------------------------------------------------------------------------- gradients
def slope_rows() -> int:
    """Rows of gradients that a tile of the gradient of weights holds."""
    return 7 if emission.registers() == 32 else 4


def slope_runs(taps: Sequence[Tap], rows: int, kernel_columns: int) -> list[Run]:
    """The taps in blocks whose sums fit into the registers beside `rows` gradients.

    Columns of some taps are blocks of a loop over the columns, which is soon compiled; others stand side by side.
    """
    room = emission.registers() - rows - 3
    runs = alike(taps, kernel_columns)
    if len(taps) <= room:
        return [Run(taps)]
    if all(LEAST_SUMS <= len(run.taps) <= room for run in runs):
        return runs
    size = -(-len(taps) // -(-len(taps) // room))
    return [Run(taps[first:first + size]) for first in range(0, len(taps), size)]


def slopes_address(dtype: str, rows: int, taps: tuple[Tap, ...], kernel_columns: int) -> int:
    """The address of `void slopes(rows, cols, x, area, pitch, g, g_row, sums)`.

    Vector t of sums += the products of the gradients [0, rows) by [0, cols) at g with what tap t reads of x.
    """
    return emission.kernel(f"depthwise slopes {rows} {kernel_columns} {_text((taps,))}", dtype, "iipiipip",
                           partial(slopes, rows, slope_runs(taps, rows, kernel_columns)))


def slopes(most: int, runs: Sequence[Run], e: Emitter, rows: ir.Value, cols: ir.Value, x: ir.Value, area: ir.Value,
           pitch: ir.Value, g: ir.Value, g_row: ir.Value, totals: ir.Value) -> None:
    """Block by block of taps over all gradients, `most` rows of them at a time, then the rest row by row."""
    def tile(taps: Sequence[Tap], origin: ir.Value, count: int) -> Callable:
        def row(r: ir.Value, sums: list) -> Sequence:
            def column(c: ir.Value, sums: list) -> Sequence:
                mask, corner = e.first(e.sub(cols, c)), e.at(origin, e.add(e.mul(r, pitch), c))
                lines = [e.at(g, e.add(e.mul(e.add(r, i), g_row), c)) for i in range(count)]
                return add_products(e, taps, corner, area, pitch, [e.load_vector(line, mask) for line in lines], mask,
                                    sums)
            return e.loop(0, cols, column, sums, e.lanes)
        return row

    main = e.sub(rows, e.remainder(rows, most))
    for run in runs:
        def block(k: ir.Value, carried: list, run: Run = run) -> list:
            origin, first = e.at(x, e.mul(k, run.column_step)), e.mul(k, run.number_step)
            places = [e.at(totals, e.mul(e.add(first, tap.number), e.lanes)) for tap in run.taps]
            sums = e.loop(0, main, tile(run.taps, origin, most), [e.load_vector(place) for place in places], most)
            for value, place in zip(e.loop(main, rows, tile(run.taps, origin, 1), sums), places):
                e.store_vector(value, place)
            return carried
        e.loop(0, run.columns, block)


def add_products(e: Emitter, taps: Sequence[Tap], corner: ir.Value, area: ir.Value, pitch: ir.Value,
                 gradients: Sequence[ir.Value], mask: ir.Value, sums: Sequence[ir.Value]) -> list[ir.Value]:
    """The sums of the taps with the products of rows of gradients and what each tap reads."""
    sums = list(sums)
    for (plane, column, row), users in _loads(taps, len(gradients), by_rows=False):
        line = e.at(corner, e.add(e.add(e.mul(area, plane), e.mul(pitch, row)), column))
        # What lies beyond the last result may be infinite, so that its product with zero would not be zero.
        operand = e.choose(mask, e.load_vector(line), e.zero())
        for tap, r in users:
            place = taps.index(tap)
            sums[place] = e.multiply_add(gradients[r], operand, sums[place])
    return sums


def total_address(dtype: str) -> int:
    """The address of `void total(count, sums, out)`: out[t] = the sum of the lanes of vector t of sums."""
    def total(e: Emitter, count: ir.Value, sums: ir.Value, out: ir.Value) -> None:
        def group(first: ir.Value, carried: list) -> Sequence:
            rows = [e.load_vector(e.at(sums, e.mul(e.add(first, i), e.lanes))) for i in range(e.lanes)]
            e.store_vector(e.totals(rows), e.at(out, first), e.first(e.sub(count, first)))
            return carried
        e.loop(0, count, group, step=e.lanes)
    return emission.kernel("depthwise total", dtype, "ipp", total)

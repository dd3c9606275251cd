"""Microkernels of Winograd's convolution in LLVM IR: transforms of inputs, of weights and of sums to 4x4 results.

A. Lavin and S. Gray, "Fast algorithms for convolutional neural networks", CVPR 2016: F(4x4, 3x3) with the points 0, 1,
-1, 2, -2 and infinity. A patch is 6x6 inputs and the 4x4 results that they give. Vectors hold the same number of
neighbouring patches. Rows are transformed as they lie in memory; then every fourth number goes to the same vector.
"""
from collections.abc import Callable, Sequence

from llvmlite.ir import Value

from . import emission
from .emission import Emit, Emitter

INPUTS, RESULTS, TAPS = 6, 4, 3              # of a patch along one axis


def _times(e: Emitter, factor: float, x: Value, y: Value) -> Value:
    """factor * x + y."""
    return e.multiply_add(e.splat(factor), x, y)


def inputs_transformed(e: Emitter, d: Sequence[Value]) -> list[Value]:
    """The six sums of six inputs (B^T d)."""
    even, odd = _times(e, -4, d[2], d[4]), _times(e, -4, d[1], d[3])
    outer_even, outer_odd = e.sub(d[4], d[2]), e.sub(d[3], d[1])
    return [_times(e, 4, d[0], _times(e, -5, d[2], d[4])), e.add(even, odd), e.sub(even, odd),
            _times(e, 2, outer_odd, outer_even), _times(e, -2, outer_odd, outer_even),
            _times(e, 4, d[1], _times(e, -5, d[3], d[5]))]


def weights_transformed(e: Emitter, g: Sequence[Value]) -> list[Value]:
    """The six sums of three weights (G g)."""
    outer, far = e.add(g[0], g[2]), _times(e, 4, g[2], g[0])
    sixth, twenty_fourth = e.splat(-1 / 6), e.splat(1 / 24)
    return [e.mul(e.splat(0.25), g[0]), e.mul(sixth, e.add(outer, g[1])), e.mul(sixth, e.sub(outer, g[1])),
            e.mul(twenty_fourth, _times(e, 2, g[1], far)), e.mul(twenty_fourth, _times(e, -2, g[1], far)), g[2]]


def results_transformed(e: Emitter, m: Sequence[Value]) -> list[Value]:
    """The four results of six products (A^T m)."""
    near, near_odd = e.add(m[1], m[2]), e.sub(m[1], m[2])
    far, far_odd = e.add(m[3], m[4]), e.sub(m[3], m[4])
    return [e.add(e.add(m[0], near), far), _times(e, 2, far_odd, near_odd), _times(e, 4, far, near),
            e.add(_times(e, 8, far_odd, near_odd), m[5])]


Transform = Callable[[Emitter, Sequence[Value]], list[Value]]


def both_ways(e: Emitter, transform: Transform, columns: Sequence[Sequence[Value]]) -> list[list[Value]]:
    """A transform of columns of numbers, then of the rows of what they give."""
    return [transform(e, row) for row in zip(*[transform(e, column) for column in columns])]


# ------------------------------------------------------------------------------------------------ kernels
def address(name: str) -> int:
    """The address of the kernel `name` below: read_rows, spread, gather, copy_rows or turn_weights."""
    arguments, emit = KERNELS[name]
    return emission.kernel(f"winograd {name}", "float32", arguments, emit)


def read_rows(e: Emitter, x: Value, zeros: Value, height: Value, width: Value, top: Value, left: Value, cols: Value,
              near: Value, far: Value, step: Value) -> None:
    """The columns of a row of patches transformed: near[i step + j] is sum i of column left + j of the plane x.

    far[i step + j] is that of column left + j + 4, for the last two inputs of a patch; j < cols of both. Outside of x,
    which is height by width, are zeros, as many as a row at `zeros`. Up to a vector after the columns is written too.
    """
    rows = []
    for i in range(INPUTS):
        y = e.add(top, i)
        inside = e.builder.and_(e.compare(y, ">=", 0), e.compare(y, "<", height))
        rows.append(e.builder.select(inside, e.at(x, e.mul(y, width)), zeros))

    def columns(j: Value, mask: Value | None) -> None:
        place = e.add(left, j)
        inside = e.builder.and_(e.first(e.sub(width, place)), e.builder.not_(e.first(e.sub(0, place))))
        sums = inputs_transformed(e, [e.load_vector(e.at(row, place), inside) for row in rows])
        for i, value in enumerate(sums):
            e.store_vector(value, e.at(near, e.add(e.mul(step, i), j)))
            e.store_vector(value, e.at(far, e.add(e.mul(step, i), e.sub(j, RESULTS))), mask)

    def further(j: Value, carried: list) -> Sequence:
        columns(j, None)
        return carried
    # What is before the first column of `far` belongs to the patches before.
    columns(e.index(0), e.builder.not_(e.first(RESULTS)))
    e.loop(e.lanes, e.add(cols, INPUTS - RESULTS), further, step=e.lanes)


def _dealt(e: Emitter, line: Sequence[Value]) -> list[Value]:
    """The numbers 0, 4, 8 ... of four vectors in a row, then 1, 5, 9 ... and so on."""
    even, odd = range(0, 2 * e.lanes, 2), range(1, 2 * e.lanes, 2)
    pairs = [[e.shuffle(line[k], line[k + 1], places) for k in (0, 2)] for places in (even, odd)]
    return [e.shuffle(pairs[k % 2][0], pairs[k % 2][1], (even, odd)[k // 2]) for k in range(RESULTS)]


def spread(e: Emitter, near: Value, far: Value, step: Value, target: Value, target_step: Value) -> None:
    """The rows of a vector of patches transformed, from what read_rows gives to the 36 matrices of inputs."""
    def row(i: Value, carried: list) -> Sequence:
        dealt = [_dealt(e, [e.load_vector(e.at(source, e.add(e.mul(i, step), k * e.lanes))) for k in range(RESULTS)])
                 for source in (near, far)]
        for j, value in enumerate(inputs_transformed(e, dealt[0] + dealt[1][:INPUTS - RESULTS])):
            e.store_vector(value, e.at(target, e.mul(target_step, e.add(e.mul(i, INPUTS), j))))
        return carried
    e.loop(0, INPUTS, row)


def _woven(e: Emitter, values: Sequence[Value]) -> list[Value]:
    """The numbers of four vectors, all first ones, then all second ones, and so on."""
    def pair(a: Value, b: Value) -> list[Value]:
        places = [lane + e.lanes * second for lane in range(e.lanes) for second in (0, 1)]
        return [e.shuffle(a, b, places[:e.lanes]), e.shuffle(a, b, places[e.lanes:])]

    def pair_of_pairs(a: Value, b: Value) -> list[Value]:
        places = [lane + e.lanes * second + k for lane in range(0, e.lanes, 2) for second in (0, 1) for k in (0, 1)]
        return [e.shuffle(a, b, places[:e.lanes]), e.shuffle(a, b, places[e.lanes:])]
    lows = zip(pair(*values[:2]), pair(*values[2:]))
    return [vector for low in lows for vector in pair_of_pairs(*low)]


def gather(e: Emitter, source: Value, source_step: Value, room: Value, step: Value) -> None:
    """The results of a vector of patches from the 36 matrices of products: row i of each at room + i step, in a row."""
    columns = [[e.load_vector(e.at(source, e.mul(source_step, INPUTS * i + j))) for i in range(INPUTS)]
               for j in range(INPUTS)]
    for i, row in enumerate(both_ways(e, results_transformed, columns)):
        for k, value in enumerate(_woven(e, row)):
            e.store_vector(value, e.at(room, e.add(e.mul(step, i), k * e.lanes)))


def copy_rows(e: Emitter, rows: Value, cols: Value, source: Value, source_step: Value, target: Value,
              target_step: Value) -> None:
    """Copy rows of numbers."""
    def row(i: Value, carried: list) -> Sequence:
        origin, place = e.at(source, e.mul(i, source_step)), e.at(target, e.mul(i, target_step))

        def columns(j: Value, carried: list) -> Sequence:
            inside = e.first(e.sub(cols, j))
            e.store_vector(e.load_vector(e.at(origin, j), inside), e.at(place, j), inside)
            return carried
        e.loop(0, cols, columns, step=e.lanes)
        return carried
    e.loop(0, rows, row)


def turn_weights(e: Emitter, channels: Value, rows: Value, panel: Value, first: Value, tap_step: Value, target: Value,
                 target_step: Value) -> None:
    """A panel of filters (channels, 9 taps, rows) transformed to 36 panels (channels, rows), target_step apart.

    first and tap_step: where the taps begin and how they go on, 0 and 1, or 8 and -1 for the gradient of the input.
    """
    def channel(c: Value, carried: list) -> Sequence:
        def filters(j: Value, carried: list) -> Sequence:
            start = e.add(e.mul(c, TAPS * TAPS), first)
            columns = [[e.load_vector(e.at(panel, e.add(e.mul(e.add(start, e.mul(tap_step, TAPS * i + k)), rows), j)))
                        for i in range(TAPS)] for k in range(TAPS)]
            place, inside = e.at(target, e.add(e.mul(c, rows), j)), e.first(e.sub(rows, j))
            for i, row in enumerate(both_ways(e, weights_transformed, columns)):
                for k, value in enumerate(row):
                    e.store_vector(value, e.at(place, e.mul(target_step, INPUTS * i + k)), inside)
            return carried
        e.loop(0, rows, filters, step=e.lanes)
        return carried
    e.loop(0, channels, channel)


KERNELS: dict[str, tuple[str, Emit]] = {
    "read_rows": ("ppiiiiippi", read_rows), "spread": ("ppipi", spread), "gather": ("pipi", gather),
    "copy_rows": ("iipipi", copy_rows), "turn_weights": ("iipiipi", turn_weights)}

"""Products of a few rows with a packed matrix, a tile of the result in registers: the work of one step of a recurrence.

A packed matrix lies in panels of columns, PANEL bytes of a row after those of the row before, the last panel filled up
with zeros. The sums of a row do not depend on the rows that are computed with it: a batch may be cut anywhere.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .. import compiler
from ..intrinsics import IR
from .typed import convert, item_size, scalar, shift

ROWS = 6                     # of a tile
PANEL = 256                  # bytes of a row of a panel
WORD, WIDE_WORD = ir.IntType(32), ir.IntType(64)


@scalar
def panel_cols(pointer):
    """Columns of a panel, a constant."""
    return PANEL // item_size(pointer)


def _splat(builder, value, kind):
    """A vector of one value."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(WORD, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(WORD, kind.count), [0] * kind.count))


def _vectors_at(builder, pointer, kind, numbers):
    """Pointers to the vectors of these numbers from an element on."""
    first = builder.bitcast(pointer, kind.as_pointer())
    return [builder.gep(first, [ir.Constant(WORD, number)]) for number in numbers]


def _emit_step(builder, sums, lines, panel, k, numbers):
    """sums += the outer product of element k of each line and of these vectors of row k of the panel."""
    kind, count = sums[0].type, len(numbers)
    name = kind.element.intrinsic_name
    fma = builder.module.declare_intrinsic(f"llvm.fmuladd.v{kind.count}{name}", (), ir.FunctionType(kind, [kind] * 3))
    size = int(name[1:]) // 8
    row = builder.gep(panel, [builder.mul(k, ir.Constant(WIDE_WORD, PANEL // size))])
    loaded = [builder.load(place, align=size) for place in _vectors_at(builder, row, kind, numbers)]
    factors = [_splat(builder, builder.load(builder.gep(line, [k])), kind) for line in lines]
    return [builder.call(fma, [factors[n // count], loaded[n % count], total]) for n, total in enumerate(sums)]


def _emit_part(builder, kind, lines, panel, depth, numbers):
    """The sums over the whole depth for some vectors of a panel, line by line."""
    before, loop, done = builder.block, builder.append_basic_block("depth"), builder.append_basic_block("tile")
    builder.branch(loop)
    builder.position_at_end(loop)
    k = builder.phi(WIDE_WORD)
    sums = [builder.phi(kind) for _ in range(len(lines) * len(numbers))]
    results = _emit_step(builder, sums, lines, panel, k, numbers)
    following = builder.add(k, ir.Constant(WIDE_WORD, 1))
    starts = [ir.Constant(WIDE_WORD, 0)] + [ir.Constant(kind, None)] * len(sums)
    for phi, first, later in zip([k, *sums], starts, [following, *results]):
        phi.add_incoming(first, before)
        phi.add_incoming(later, loop)
    builder.cbranch(builder.icmp_signed("<", following, depth), loop, done)
    builder.position_at_end(done)
    return results


def tile_of(rows):
    """An intrinsic: out (rows, panel_cols) = a (rows, depth), its rows `step` apart, times a panel; depth above 0.

    As many vectors of a row are summed at once as registers hold with ROWS rows.
    """
    @intrinsic
    def multiply(typing, a, step, panel, depth, out):
        def emit(context, builder, sig, args):
            start, step_, panel_, depth_, out_ = args
            width, size = compiler.vector_width(), a.dtype.bitwidth // 8
            kind, together = ir.VectorType(IR[a.dtype], width // 8 // size), 4 if width == 512 else 2
            vectors = PANEL * 8 // width
            lines = [builder.gep(start, [builder.mul(step_, ir.Constant(WIDE_WORD, r))]) for r in range(rows)]
            for first in range(0, vectors, together):
                numbers = range(first, first + together)
                sums = _emit_part(builder, kind, lines, panel_, depth_, numbers)
                places = [row * vectors + number for row in range(rows) for number in numbers]
                for place, total in zip(_vectors_at(builder, out_, kind, places), sums):
                    builder.store(total, place, align=size)
            return context.get_dummy_value()
        return types.void(a, types.int64, panel, types.int64, out), emit
    return multiply


tile_1, tile_2, tile_3, tile_4, tile_5, tile_6 = (tile_of(rows) for rows in range(1, ROWS + 1))


@scalar
def tile(count, a, step, panel, depth, out):
    """The tile of 1 to ROWS rows."""
    if count == 6:
        tile_6(a, step, panel, depth, out)
    elif count == 5:
        tile_5(a, step, panel, depth, out)
    elif count == 4:
        tile_4(a, step, panel, depth, out)
    elif count == 3:
        tile_3(a, step, panel, depth, out)
    elif count == 2:
        tile_2(a, step, panel, depth, out)
    else:
        tile_1(a, step, panel, depth, out)


@scalar
def add_product(a, a_step, packed, depth, out, out_step, rows, cols, room):
    """out (rows, cols) += a (rows, depth) times a packed matrix (depth, cols). room: ROWS rows of a panel."""
    width = panel_cols(a)
    for number in range((cols + width - 1) // width):
        left = number * width
        panel, count = shift(packed, left * depth), min(width, cols - left)
        for row in range(0, rows, ROWS):
            height = min(ROWS, rows - row)
            tile(height, shift(a, row * a_step), a_step, panel, depth, room)
            for i in range(height):
                target, source = shift(out, (row + i) * out_step + left), shift(room, i * width)
                for j in range(count):
                    target[j] += source[j]


def pack(start, stop, x, packed, depth, cols, row_step, col_step):
    """Unit: a panel. x (depth, cols) by its steps in elements; what is missing in the last panel is 0."""
    width = panel_cols(x)
    for unit in range(start, stop):
        target, left = shift(packed, unit * width * depth), unit * width
        count = min(width, cols - left)
        if col_step == 1:
            for k in range(depth):
                line, source = shift(target, k * width), shift(x, k * row_step + left)
                for j in range(count):
                    line[j] = source[j]
        else:
            for j in range(count):
                source, column = shift(x, (left + j) * col_step), shift(target, j)
                for k in range(depth):
                    column[k * width] = source[k * row_step]
        for k in range(depth):
            for j in range(count, width):
                target[k * width + j] = convert(x, 0)

"""Products of blocks that lie in the caches, for kernels that make them and use them up: attention.

One emitted function multiplies rows of any strides with columns that lie side by side, a register tile at a time:
up to eight rows by two vectors, each number of the left operand spread over a vector (K. Goto, R. van de Geijn, Anatomy
of high-performance matrix multiplication, 2008). The right operand comes in panels of `width` columns, packed or not.
"""

from functools import cache, partial

from llvmlite import ir

from . import compiler
from .emission import Emitter, kernel, lanes, registers
from .microkernel import Tile, multiply

VECTORS = 2                        # of a panel's row
ROWS, FEWER_ROWS = (8, 4, 2, 1), (6, 4, 2, 1)      # of tiles with 32 and with 16 registers; small ones take the rest


def width(dtype: str) -> int:
    """How many columns a panel has."""
    return VECTORS * lanes(dtype)


def product(dtype: str) -> int:
    """The address of product(rows, cols, depth, a, a_row, a_step, b, b_row, b_panel, c, c_row, add).

    c = a b, or c += a b where `add` is 1. Steps in elements: a_row and a_step from row to row and from column to
    column of a; b_row from row to row of a panel of b, b_panel from panel to panel; c_row from row to row of c.
    """
    return _kernel("block product", dtype, "iiipiipiipii", compiler.vector_width())


def packing(dtype: str) -> int:
    """The range kernel pack(x, packed, count, size, panels, heads, x_batch, x_head, x_row), a unit being a panel.

    The `count` rows of `size` numbers of each head become the columns of panels, whose rows are `size` rounded up to
    a whole vector; columns beyond `count` are 0.
    """
    return _kernel("panels of columns", dtype, "pii", compiler.vector_width())


@cache
def _kernel(name: str, dtype: str, arguments: str, bits: int) -> int:
    return kernel(name, dtype, arguments, _emit_product if name == "block product" else _emit_packing)


def _emit_product(e: Emitter, rows: ir.Value, cols: ir.Value, depth: ir.Value, a: ir.Value, a_row: ir.Value,
                  a_step: ir.Value, b: ir.Value, b_row: ir.Value, b_panel: ir.Value, c: ir.Value, c_row: ir.Value,
                  add: ir.Value) -> None:
    def panel(first, carried):
        (here,) = carried
        left = e.sub(cols, first)

        def tiles(vectors):
            done = e.index(0)
            for count in ROWS if registers() == 32 else FEWER_ROWS:
                def tile(row, carried, count=count):
                    left_rows, result_rows = e.at(a, e.mul(row, a_row)), e.at(e.at(c, e.mul(row, c_row)), first)
                    multiply(Tile(e.dtype, count, vectors), e, depth, left_rows, a_row, a_step, here, b_row,
                             result_rows, c_row, left, add, c)
                    return carried
                rest = e.sub(rows, done)
                stop = e.add(done, e.sub(rest, e.remainder(rest, count)))
                e.loop(done, stop, tile, step=count)
                done = stop
            return []
        e.either(e.compare(left, ">", e.lanes), partial(tiles, 2), partial(tiles, 1))
        return [e.at(here, b_panel)]
    e.loop(0, cols, panel, [b], VECTORS * e.lanes)


def _emit_packing(e: Emitter, table: ir.Value, start: ir.Value, stop: ir.Value) -> None:
    x, packed, count, size, panels, heads, x_batch, x_head, x_row = e.operands(table, "ppiiiiiii")
    columns = VECTORS * e.lanes
    deep = e.mul(e.quotient(e.add(size, e.lanes - 1), e.lanes), e.lanes)

    def unit(number, carried):
        head, panel = e.builder.udiv(number, panels), e.builder.urem(number, panels)
        place = e.add(e.mul(e.builder.udiv(head, heads), x_batch), e.mul(e.builder.urem(head, heads), x_head))
        first = e.mul(panel, columns)
        source = e.at(x, e.add(place, e.mul(first, x_row)))
        target = e.at(packed, e.mul(number, e.mul(deep, columns)))

        def square(feature, carried):
            inside = e.sub(size, feature)
            for vector in range(VECTORS):
                lines = []
                for number in range(vector * e.lanes, (vector + 1) * e.lanes):
                    valid = e.compare(e.add(first, number), "<", count)
                    line = e.at(source, e.mul(e.choose(valid, number, 0), x_row))
                    lines.append(e.load_vector(e.at(line, feature), e.first(e.choose(valid, inside, 0))))
                for number, column in enumerate(e.transpose(lines)):
                    row = e.mul(e.add(feature, number), columns)
                    e.store_vector(column, e.at(target, e.add(row, vector * e.lanes)))
            return carried
        e.loop(0, size, square, step=e.lanes)
        return carried
    e.loop(start, stop, unit)

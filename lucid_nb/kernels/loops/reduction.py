"""The kernels of a reduction, made from how it folds a row and how it combines two values.

Rows may be cut into blocks by one kernel and merged by the kernel of rows, so the fold must give the same bits either
way: sums, whose order matters, have kernels of their own in sums.py.
"""

from ..intrinsics import mark_kernel
from .typed import scalar, shift


@scalar
def panel_at(unit, panels, panel, cols):
    """The outer slice of a unit that is one of `panels` panels of `panel` columns, its first column and its width."""
    left = unit % panels * panel
    return unit // panels, left, min(panel, cols - left)


def column_fold(combine):
    """The function that folds columns by combine(a, b), in one order whatever the panels are."""
    @scalar
    def fold(x, rows, step, best, width):
        """best = the folded columns of at least one row."""
        for j in range(width):
            best[j] = x[j]
        for row in range(1, rows - 3, 4):
            a, b = shift(x, row * step), shift(x, (row + 1) * step)
            c, d = shift(x, (row + 2) * step), shift(x, (row + 3) * step)
            for j in range(width):
                best[j] = combine(best[j], combine(combine(a[j], b[j]), combine(c[j], d[j])))
        for row in range(rows - (rows - 1) % 4, rows):
            line = shift(x, row * step)
            for j in range(width):
                best[j] = combine(best[j], line[j])
    return fold


def reduction_kernels(row, column, block):
    """The kernels of rows, of their blocks of `block` elements, and of columns, by row(x, cols) and a column_fold."""
    def rows_kernel(start, stop, x, out, cols, row_step):
        """Unit: a row."""
        mark_kernel()
        for unit in range(start, stop):
            out[unit] = row(shift(x, unit * row_step), cols)

    def row_blocks_kernel(start, stop, x, out, cols, row_step, blocks):
        """Unit: one of the `blocks` blocks of a row."""
        mark_kernel()
        for unit in range(start, stop):
            first = unit % blocks * block
            out[unit] = row(shift(x, unit // blocks * row_step + first), min(block, cols - first))

    def columns_kernel(start, stop, x, out, rows, cols, outer_step, row_step, panels, panel):
        """Unit: one of the `panels` panels of `panel` columns of an outer slice."""
        mark_kernel()
        for unit in range(start, stop):
            outer, left, width = panel_at(unit, panels, panel, cols)
            column(shift(x, outer * outer_step + left), rows, row_step, shift(out, outer * cols + left), width)
    return rows_kernel, row_blocks_kernel, columns_kernel

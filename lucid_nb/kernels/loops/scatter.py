"""Adding rows at indices that may repeat."""

from ..intrinsics import mark_kernel
from .typed import shift


def scatter_add(start, stop, index, values, out, count, rows, cols, units):
    """Unit: the u-th of `units` shares of the rows of out. Values are added in the order of `index`."""
    mark_kernel()
    for unit in range(start, stop):
        first, last = rows * unit // units, rows * (unit + 1) // units
        for k in range(count):
            row = index[k]
            if first <= row and row < last:
                source, target = shift(values, k * cols), shift(out, row * cols)
                for j in range(cols):
                    target[j] += source[j]

"""Rows that are read and written by index, and masks."""

import lucid_nb.cuda as table

from . import array, launches


@launches("float32", "bfloat16", "bool")
def rows(dtype):
    matrix, index = array((100_000, 128), dtype), array((50_000,), "int64")
    table.gather(matrix, index)
    table.scatter(matrix, index, array((50_000, 128), dtype))
    table.scatter_add(matrix, index, array((50_000, 128), dtype))

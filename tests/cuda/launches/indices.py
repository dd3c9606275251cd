"""Rows that are read and written by index, and masks."""

from unittest import mock

import numpy as np

import lucid_nb.cuda as table

from . import array, launches

SCANS = "the scan of counters is that of running sums"


@launches("float32", "bfloat16", "bool", registers=SCANS)
def rows(dtype):
    matrix, index = array((100_000, 128), dtype), array((50_000,), "int64")
    table.gather(matrix, index)
    table.scatter(matrix, index, array((50_000, 128), dtype))
    table.scatter_add(matrix, index, array((50_000, 128), dtype))
    table.sum_rows(index, array((50_000, 128), dtype), 100_000)


@launches("float32", "bfloat16", "int8", registers=SCANS)
def along_an_axis(dtype):
    matrix, index = array((4096, 128), dtype), array((2048, 128), "int64")
    values = table.take_along(matrix, index, 0)
    for kind in ("sum", "prod", "max"):
        table.scatter_along(kind, matrix, index, values, 0)


@launches("float32", registers=SCANS)
def masks(dtype):
    """How many elements are true would be read on the host."""
    matrix, line = array((1024, 1024), "bool"), array((1 << 20,), dtype)
    with mock.patch.object(table.masks, "to_numpy", lambda found: np.int64(1 << 16)):
        table.nonzero(matrix)
        table.expand(table.reshape(matrix, line.shape), line, array((1 << 16,), dtype))

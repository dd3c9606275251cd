"""Sorting rows of a block and long ones, searching, counting, and the generator."""

from unittest import mock

import numpy as np

import lucid_nb.cuda as table

from . import array, launches

SHORT, LONG = (1 << 14, 256), (4, 1 << 20)
SCANS = "the scan of counters is that of running sums"


@launches("bool", "int8", "uint64", "bfloat16", "float32", "float64", registers=SCANS)
def sort(dtype):
    for shape in (SHORT, LONG):
        table.sort(array(shape, dtype), 1, True)
        table.argsort(array(shape, dtype), 1, False)


@launches("uint8", "float64", "bfloat16", "complex64", registers=SCANS)
def search(dtype):
    ordered, x = array((1 << 20,), dtype), array((1 << 22,), dtype)
    table.searchsorted(ordered, x, "left")
    table.isin(x, ordered)


@launches("float32", "float64", "bfloat16")
def dropout(dtype):
    table.dropout(array((1 << 24,), dtype), 1, 2, 3, 1 << 31, 2.0, 0.0, 0.0)


@launches("uint32")
def random_bits(dtype):
    table.random_bits(1, 2, 2**63, 1 << 24)


@launches("float32", "complex64", registers=SCANS)
def distinct(dtype):
    """How many there are would be read on the host."""
    with mock.patch.object(table.search, "to_numpy", lambda found: np.int64(1 << 16)):
        table.unique(array((1 << 20,), dtype), True, True, True, True)


@launches("complex64", registers=SCANS)
def first_of_many(dtype):
    table.topk(array(LONG, dtype), 10, 1, True)


@launches("float32", "int64")
def counting(dtype):
    x = array((1 << 22,), dtype)
    table.histogram(x, array((101,), "float64"))
    if dtype == "int64":
        for bins in (100, 1 << 20):
            table.bincount(x, bins)

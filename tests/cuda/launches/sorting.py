"""Sorting rows of a block and long ones, searching, counting, and the generator."""

import lucid_nb.cuda as table

from . import array, launches

SHORT, LONG = (1 << 14, 256), (4, 1 << 20)


@launches("bool", "int8", "uint64", "bfloat16", "float32", "float64")
def sort(dtype):
    for shape in (SHORT, LONG):
        table.sort(array(shape, dtype), 1, True)
        table.argsort(array(shape, dtype), 1, False)


@launches("uint8", "float64", "bfloat16", "complex64")
def search(dtype):
    ordered, x = array((1 << 20,), dtype), array((1 << 22,), dtype)
    table.searchsorted(ordered, x, "left")


@launches("float32", "float64", "bfloat16")
def dropout(dtype):
    table.dropout(array((1 << 24,), dtype), 1, 2, 3, 1 << 31, 2.0, 0.0, 0.0)


@launches("uint32")
def random_bits(dtype):
    table.random_bits(1, 2, 2**63, 1 << 24)

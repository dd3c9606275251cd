"""Scans, running extremes and recurrences over long rows and many short ones."""

import lucid_nb.cuda as table

from . import array, launches

LONG, MANY = (4, 1 << 20), (1 << 16, 64)
REGISTERS = ("a thread walks its elements twice, at places of 64 bits, beside a carry in float64; in fewer registers "
             "some would be spilled")


@launches("float32", "bfloat16", "int8", "complex64", registers=REGISTERS)
def sums_and_products(dtype):
    for kind in ("sum", "prod"):
        table.scan(kind, array(LONG, dtype), 1)
        table.scan(kind, array(MANY, dtype), 1)


@launches("float32", "bool", registers=REGISTERS)
def running_extremes(dtype):
    table.extreme_scan("max", array(LONG, dtype), 1)
    table.extreme_scan("min", array(MANY, dtype), 1)


@launches("float32", "bfloat16", "complex128", registers=REGISTERS)
def recurrences(dtype):
    for shape in (LONG, MANY):
        table.recurrence(array(shape, dtype), array(shape, dtype), 1)


@launches("float32", "float64", registers=REGISTERS)
def running_logsumexp(dtype):
    table.scan("logsumexp", array(LONG, dtype), 1)

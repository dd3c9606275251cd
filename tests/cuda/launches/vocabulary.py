"""Every entry of the vocabulary alone."""

from functools import partial

from lucid_nb.expr import vocabulary

from . import FLOATS, Case, add_case, array
from .elementwise import COUNT, run

# What entries take that do not take floats.
OPERANDS = (dict.fromkeys("bitwise_and bitwise_or bitwise_xor invert left_shift right_shift bit_count gcd lcm".split(),
                          ("int32", "int64"))
            | dict.fromkeys(["real", "imag", "modulus", "unit", *(name for name in vocabulary if "complex_" in name)],
                            ("complex64", "complex128")))
SPECIAL = "special functions compute longer than they wait for memory, and half the warps hide what wait there is"
LARGE_ARGUMENTS = "libdevice reduces large arguments on the stack, through float64"


def call(name, dtype):
    """An entry on contiguous operands."""
    if name == "where":
        run(lambda m, c, x, y: m.where(c, x, y), array(COUNT, "bool"), *[array(COUNT, dtype)] * 2)
    else:
        run(lambda m, *args: getattr(m, name)(*args), *[array(COUNT, dtype)] * vocabulary[name].arity)


def is_periodic(name):
    """Does the entry reduce its argument by multiples of pi?"""
    return name in ("sin", "cos", "tan") or name.startswith("complex_tan")


for entry in sorted(vocabulary):
    for of in OPERANDS.get(entry, FLOATS):
        add_case(Case("vocabulary", entry, of, partial(call, entry), lambda dtype: 0, True, SPECIAL,
                      LARGE_ARGUMENTS if is_periodic(entry) else ""))

"""Every kernel of scans becomes sm_80 machine code without a GPU, in registers alone."""

import pytest

import lucid_nb.cuda as table
from lucid_nb.cuda.runtime import chunks_of

from .test_compile import array, check

LONG, SHORT = (1, 3000), (3, 2)                 # in chunks where order allows, and a thread a row
IN_ORDER = [("prod", "float32"), ("prod", "complex64")]


def test_a_long_row_is_cut():
    assert chunks_of(1, 3000, 1) > 1


@pytest.mark.parametrize("kind, dtype", [("sum", "float32"), ("sum", "bfloat16"), ("sum", "bool"), ("prod", "int8"),
                                         ("logsumexp", "float32"), *IN_ORDER])
def test_scans_compile(compiled, kind, dtype):
    table.scan(kind, array(LONG, dtype), 1)
    check(compiled, 1 if (kind, dtype) in IN_ORDER else 3)


@pytest.mark.parametrize("dtype", ("float32", "bool"))
def test_running_extremes_compile(compiled, dtype):
    table.extreme_scan("max", array(LONG, dtype), 1)
    table.extreme_scan("min", array(SHORT, dtype), 1)
    check(compiled, 4)


@pytest.mark.parametrize("dtype", ("bfloat16", "complex128"))
def test_recurrences_compile(compiled, dtype):
    for shape in (LONG, SHORT):
        table.recurrence(array(shape, dtype), array(shape, dtype), 1)
    check(compiled, 2)

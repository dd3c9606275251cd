"""Every kernel of sorting, searching, counting, scattering and of the generator becomes sm_80 machine code without a
GPU, in registers alone."""

import numpy as np
import pytest

import lucid_nb.cuda as table
from lucid_nb.cuda.counting import FEW
from lucid_nb.cuda.sort import CAPACITY

from .test_compile import array, check

LONG = (2, CAPACITY + 1)


def check_all(compiled, *names):
    """Kernels of these names are among those that compiled, all of them in registers alone."""
    assert {kernel.name for kernel in compiled} >= set(names)
    check(compiled, len(compiled))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "bfloat16", "float32", "float64"])
def test_rows_of_a_block_compile(compiled, dtype):
    table.sort(array((3, 5), dtype), 1, True)
    table.argsort(array((3, 5), dtype), 1, False)
    check(compiled, 2)


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_long_rows_compile(compiled, dtype):
    table.sort(array(LONG, dtype), 1, True)
    table.argsort(array(LONG, dtype), 1, False)
    check_all(compiled, "encode_all", "_count_kernel", "move", "decode_all")


def test_complex_numbers_and_topk_compile(compiled):
    table.topk(array((3, 5), "complex64"), 2, 1, True)
    check_all(compiled, "encode_part", "classify_all", "sort_rows", "_take_kernel")


@pytest.mark.parametrize("dtype", ["uint8", "float64", "bfloat16", "complex64"])
def test_searching_compiles(compiled, dtype):
    ordered, x = array((5,), dtype), array((2, 3), dtype)
    table.searchsorted(ordered, x, "left")
    table.isin(x, ordered)
    check_all(compiled, "search", "find_members")


@pytest.mark.parametrize("dtype", ["int64", "float32", "complex64"])
def test_distinct_elements_compile(compiled, dtype, monkeypatch):
    monkeypatch.setattr(table.search, "to_numpy", lambda found: np.int64(3))
    table.unique(array((5,), dtype), True, True, True, True)
    check_all(compiled, "find_new", "_runs_kernel", "_sizes_kernel")


@pytest.mark.parametrize("kind", ["set", "sum", "prod", "max"])
def test_scattering_compiles(compiled, kind):
    for dtype in ("float32", "bfloat16", "int8", "bool") if kind == "sum" else ("float32",):
        x, index = array((3, 2), dtype), array((5, 2), "int64")
        table.scatter_along(kind, x, index, array((5, 2), dtype), 0)
    check_all(compiled, "_write_rows_kernel" if kind == "set" else "join_rows")


def test_masks_compile(compiled, monkeypatch):
    monkeypatch.setattr(table.masks, "to_numpy", lambda found: np.int64(3))
    mask = array((4, 3), "bool")
    table.nonzero(mask)
    line = table.reshape(mask, (12,))
    table.expand(line, array((12,)), array((3,)))
    check_all(compiled, "_places_kernel", "_along_kernel", "_expand_kernel")


def test_counting_compiles(compiled):
    for dtype in ("float32", "int64"):
        table.bin_places(array((9,), dtype), array((4,), "float64"))
    table.histogram(array((9,)), array((4,), "float64"))
    table.bincount(array((9,), "uint8"), FEW + 1)
    check_all(compiled, "find_bins", "_count_few_kernel", "_count_kernel")


def test_the_generator_compiles(compiled):
    table.random_bits(1, 2, 2**63, 9)
    for dtype in ("float32", "float64", "bfloat16"):
        table.dropout(array((9,), dtype), 1, 2, 3, 1 << 31, 2.0, 0.0, 0.0)
    check_all(compiled, "_bits_kernel", "dropout")

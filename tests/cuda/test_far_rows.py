"""Launches of scans, sorts and scatters over more than 2**31 elements and more than 65,535 rows, as arithmetic."""

import numpy as np
import pytest

import lucid_nb.cuda as table

from .conftest import check_launches

FAR = (70_000, 70_001)
FLOAT, INDEX = np.dtype(np.float32), np.dtype(np.int64)


def far(shape=FAR, dtype=FLOAT):
    return table.empty(shape, dtype)


@pytest.mark.parametrize("run", [
    lambda: table.scan("sum", far(), 0),
    lambda: table.scan("sum", far(), 1),
    lambda: table.scan("prod", far((2**31 + 9,)), 0),
    lambda: table.scan("sum", far((2**31 + 9,)), 0),
    lambda: table.scan("sum", far((2**32, 2)), 1),
    lambda: table.extreme_scan("max", far(), 1),
    lambda: table.recurrence(far(), far(), 1),
    lambda: table.sort(far(), 1, False),
    lambda: table.argsort(far((2**31 + 9,)), 0, True),
    lambda: table.argsort(far((2**31, 3)), 1, False),
    lambda: table.topk(far(), 5, 1, True),
    lambda: table.searchsorted(far((2**31 + 9,)), far(), "left"),
    lambda: table.isin(far(), far((70_000,))),
    lambda: table.scatter_add(far((2**32 + 1,)), far((2**31 + 9,), INDEX), far((2**31 + 9,))),
    lambda: table.scatter_along("max", far(), far(FAR, INDEX), far(), 1),
    lambda: table.take_along(far(), far(FAR, INDEX), 0),
    lambda: table.expand(far((2**31 + 9,), np.dtype(bool)), far((2**31 + 9,)), far((2**30,))),
    lambda: table.bincount(far(FAR, INDEX), 2**31 + 9),
    lambda: table.histogram(far(), far((9,), np.dtype(np.float64))),
    lambda: table.random_bits(1, 2, 3, 2**32 + 5),
    lambda: table.dropout(far(), 1, 2, 3, 4, 2.0, 0.0, 0.0),
], ids=range(21))
def test_launches_stay_within_limits(launches, run):
    run()
    check_launches(launches)
    assert launches


def test_places_of_rows_beyond_32_bits_are_64_bits_wide(launches):
    assert table.dtype_of(table.argsort(far((2**31 + 9,)), 0, False)) == INDEX
    moves = [arguments for _, _, *arguments in launches if len(arguments) == 10]
    assert moves and all(arguments[3].array.dtype == INDEX for arguments in moves)

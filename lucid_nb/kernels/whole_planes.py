"""Averages of whole planes: as many at a time as a vector has lanes, so that their totals become one vector."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from llvmlite.ir import Value

from .emission import Emitter, kernel, lanes

BLOCK = 32                         # vectors that are added before their sum joins the total: long planes keep digits


@cache
def average_planes(dtype: np.dtype) -> tuple[int, int]:
    """The address of a range kernel, and how many planes a unit of it has.

    Its operands: planes, results, two numbers whose product the sums are divided by, elements of a plane, planes.
    """
    return kernel("average planes", dtype.name, "pii", _average), lanes(dtype.name)


def _average(e: Emitter, table: Value, start: Value, stop: Value) -> None:
    x, out, row_cells, cells, size, planes = e.operands(table, "ppppii")
    by = e.splat(e.mul(e.load(row_cells), e.load(cells)))

    def unit(number: Value, carried: list) -> Sequence:
        first = e.mul(number, e.lanes)
        rows = [e.at(x, e.mul(e.smaller(e.add(first, lane), e.sub(planes, 1)), size)) for lane in range(e.lanes)]
        totals = e.totals(_sums(e, rows, size))
        e.store_vector(e.builder.fdiv(totals, by), e.at(out, first), e.first(e.sub(planes, first)))
        return carried
    e.loop(start, stop, unit)


def _sums(e: Emitter, rows: Sequence[Value], size: Value) -> list[Value]:
    """A vector for each row, whose lanes together are the row's sum."""
    def add(i: Value, sums: list) -> Sequence:
        return [e.add(value, e.load_vector(e.at(row, i))) for value, row in zip(sums, rows)]

    def block(i: Value, totals: list) -> Sequence:
        sums = e.loop(i, e.smaller(e.add(i, BLOCK * e.lanes), whole), add, [e.zero()] * len(rows), e.lanes)
        return [e.add(total, value) for total, value in zip(totals, sums)]

    rest = e.remainder(size, e.lanes)
    whole = e.sub(size, rest)
    totals = e.loop(0, whole, block, [e.zero()] * len(rows), BLOCK * e.lanes)
    return [e.add(total, e.load_vector(e.at(row, whole), e.first(rest))) for total, row in zip(totals, rows)]

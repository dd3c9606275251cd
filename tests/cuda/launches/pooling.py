"""Pools and their gradients over one to three axes, sliding and adaptive, and over whole planes."""

import lucid_nb.cuda as table
from lucid_nb.windows import adaptive_axes, pool_axes

from . import FLOATS, HALVES, array, launches

IMAGES = pool_axes("pool", (112, 112), 3, 2, 1, 1, False)
KINDS = (((32, 64), (112, 112), IMAGES), ((8, 64), (56, 56), adaptive_axes("pool", (56, 56), 1)))
FAR = ((1, 1), (1 << 15, 1 << 15), pool_axes("pool", (1 << 15, 1 << 15), 2, 2, 0, 1, False))


PLACES = "the search for the maximum of a whole plane is that of places of extremes"
DIVISIONS = "each term is divided by a count of cells, in float64 by steps whose numbers live side by side"


def results(axes):
    return tuple(axis.results for axis in axes)


@launches(*FLOATS, *HALVES, "int8", "bool", registers=PLACES)
def max_pool(dtype):
    for lead, sizes, axes in (*KINDS, FAR)[:3 if dtype == "int8" else 2]:
        table.max_pool(array((*lead, *sizes), dtype), axes)


@launches(*FLOATS, *HALVES)
def max_pool_grad(dtype):
    for lead, _, axes in KINDS:
        table.max_pool_grad(array((*lead, *results(axes)), dtype), array((*lead, *results(axes)), "int32"), axes)


@launches(*FLOATS, *HALVES, registers=DIVISIONS)
def averages(dtype):
    for lead, sizes, axes in KINDS:
        table.avg_pool(array((*lead, *sizes), dtype), axes, False, None)
        table.avg_pool_grad(array((*lead, *results(axes)), dtype), axes, True, None)

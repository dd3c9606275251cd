"""Normalisation of batches, layers and groups, its gradients, running statistics and moments."""

from unittest import mock

import lucid_nb.cuda as table
from lucid_nb.cuda import places

from . import FLOATS, HALVES, array, launches

BATCH, GROUP = (0, 2), (2, 3)
NUMBER = dict.fromkeys(HALVES, "float32")       # what weights and statistics are beside half floats
# Batches of columns, of few long and of many channels; layers of many and of few long rows; groups of planes.
SHAPES = (((4096, 256, 1), BATCH), ((32, 64, 3136), BATCH), ((32, 1024, 49), BATCH), ((8192, 1, 1024, 1), GROUP),
          ((4, 1, 1 << 20, 1), GROUP), ((32, 32, 16, 256), GROUP))
WIDE = "arrays of more than 2**30 elements have places of 64 bits, which take two registers each"


def normalize_all(shapes, dtype):
    for shape, axes in shapes:
        weights = array(shape[1] if axes == BATCH else shape[1] * shape[2], NUMBER.get(dtype, dtype))
        for centred in (True,) if axes == BATCH else (True, False):
            table.normalize(array(shape, dtype), weights, weights, shape, axes, 1e-5, centred)


def normalize_grad_all(shapes, dtype):
    for shape, axes in shapes:
        x, kept = array(shape, dtype), [1 if axis in axes else size for axis, size in enumerate(shape)]
        weights = array(shape[1] if axes == BATCH else shape[1] * shape[2], NUMBER.get(dtype, dtype))
        statistics = array(kept, NUMBER.get(dtype, dtype))
        for centred in (True,) if axes == BATCH else (True, False):
            table.normalize_grad(x, x, weights, statistics, statistics, shape, axes, 1e-5, centred)


@launches(*FLOATS, *HALVES)
def normalize(dtype):
    normalize_all(SHAPES, dtype)


@launches(*FLOATS, *HALVES)
def normalize_grad(dtype):
    normalize_grad_all(SHAPES, dtype)


@launches("float32", registers=WIDE)
def far_rows(dtype):
    """What arrays of any size launch."""
    with mock.patch.object(places, "MOST_NARROW", 0):
        normalize_all(SHAPES[2:4], dtype)
        normalize_grad_all(SHAPES[2:4], dtype)
        table.moments(array((3, 1 << 22), dtype), (1,), False)


@launches("float32", "bfloat16")
def remember(dtype):
    table.remember(array(1024, dtype), array(1024), 0.1, 1.0)


@launches(*FLOATS, "bfloat16", "int32", "complex64")
def moments(dtype):
    table.moments(array((4096, 4096), dtype), (0,), False)
    table.moments(array((4096, 4096), dtype), (1,), False)
    table.moments(array((3, 1 << 22), dtype), (1,), False)

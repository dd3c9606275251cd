"""Sampling of images at points, its gradients, and resampling along an axis."""

from unittest import mock

import numpy as np

import lucid_nb.cuda as table
from lucid_nb.cuda import places

from . import FLOATS, array, launches

SCANS = "the scan of counters is that of running sums"


@launches(*FLOATS, registers=SCANS)
def sample(dtype):
    x, at, weights = array((8, 64, 4096), dtype), array((4, 8, 4096), "int64"), array((4, 8, 4096), dtype)
    table.sample(x, at, weights)
    table.sample_input_grad(x, at, weights, 4096)
    table.sample_weight_grad(x, x, at)


@launches("float32", registers=SCANS)
def far_places(dtype):
    """What arrays of any size launch."""
    with mock.patch.object(places, "MOST_NARROW", 0):
        sample(dtype)
        resample(dtype)


@launches(*FLOATS)
def resample(dtype):
    starts, places = np.arange(0, 514, 2), np.arange(512) // 4
    table.resample(array((8, 64, 128, 128), dtype), 2, starts, places, np.ones(512))

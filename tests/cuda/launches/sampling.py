"""Sampling of images at points, its gradients, and resampling along an axis."""

import numpy as np

import lucid_nb.cuda as table

from . import FLOATS, array, launches

SCANS = "the scan of counters is that of running sums"


@launches(*FLOATS, registers=SCANS)
def sample(dtype):
    x, places, weights = array((8, 64, 4096), dtype), array((4, 8, 4096), "int64"), array((4, 8, 4096), dtype)
    table.sample(x, places, weights)
    table.sample_input_grad(x, places, weights, 4096)
    table.sample_weight_grad(x, x, places)


@launches(*FLOATS)
def resample(dtype):
    starts, places = np.arange(0, 514, 2), np.arange(512) // 4
    table.resample(array((8, 64, 128, 128), dtype), 2, starts, places, np.ones(512))

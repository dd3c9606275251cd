"""Numbers whose order is hard: what sorts are tested on, of any device."""

import numpy as np


def unordered(random, shape, dtype, spread):
    """Numbers with many equal ones, both zeros, infinities and NaNs of both signs; all values where spread is None."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu" and spread is None:
        bounds = np.iinfo(dtype)
        return random.integers(bounds.min, bounds.max, shape, dtype, True)
    x = np.round(random.standard_normal(shape) * (spread or 1e6))
    if dtype.kind in "biu":
        return x.astype(np.int64).astype(dtype)
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
    for start, step, value in ((0, 7, 0.0), (1, 11, -0.0), (5, 13, np.nan), (7, 17, np.copysign(np.nan, -1)),
                               (3, 19, np.inf), (4, 23, -np.inf)):
        x.reshape(-1)[start::step] = value
    return x

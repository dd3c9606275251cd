"""Weights that any library can draw again: what the references of test_zoo.py were computed with."""

import numpy as np


def drawn(key, shape, number):
    """The values of one entry of a state: variances near 1, weights of norms near 1, others near 0."""
    rng = np.random.default_rng(number)
    if key.endswith("running_var"):
        return rng.uniform(0.5, 1.5, shape)
    center = 1.0 if key.endswith("weight") and len(shape) == 1 else 0.0
    fan = np.prod(shape[1:]) if len(shape) > 1 else 25
    return center + rng.normal(size=shape) / np.sqrt(fan)


def drawn_state(state):
    """Values for all floating entries, by their order; integer ones stay."""
    return {key: drawn(key, value.shape, number) if "float" in str(value.dtype) else np.array(value)
            for number, (key, value) in enumerate(state.items())}


def images(*shape):
    """Images of a fixed seed."""
    return np.random.default_rng(99).normal(size=shape)

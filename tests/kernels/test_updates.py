"""Updates of many arrays in place. Oracle: NumPy on each array; what lies around them stays as it was."""

import numpy as np
import pytest

from lucid_nb import backend, expr
from lucid_nb.kernels.updates import update
from lucid_nb.program import type_program

RNG = np.random.default_rng(0)
GUARD = 64


def inside(size, dtype):
    """An array in the middle of a larger one."""
    whole = RNG.normal(size=size + 2 * GUARD).astype(dtype)
    return whole, whole[GUARD:GUARD + size]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_updates_write_inside_their_arrays_only(dtype):
    table = backend.table("cpu")
    outputs = expr.trace(lambda m, a, b, c, s: (a + s * b, c - a), 4)
    kernel = table.map(type_program(outputs, [dtype] * 4, table.NATIVE(), False), "sample")
    sizes = [0, 1, 7, 33, 4096, 4097, 9000, 0, 3]
    wholes = [[inside(size, dtype) for _ in range(3)] for size in sizes]
    before = [[whole.copy() for whole, _ in one] for one in wholes]
    update(kernel, [[part for _, part in one] for one in wholes], np.array([0.5], dtype), (0, 2))
    for size, one, old in zip(sizes, wholes, before):
        (a, _), (b, _), (c, _) = one
        for whole, earlier in zip((a, b, c), old):
            assert np.array_equal(whole[:GUARD], earlier[:GUARD])
            assert np.array_equal(whole[GUARD + size:], earlier[GUARD + size:])
        a0, b0, c0 = (earlier[GUARD:GUARD + size] for earlier in old)
        assert np.array_equal(b[GUARD:GUARD + size], b0)
        assert np.allclose(a[GUARD:GUARD + size], a0 + 0.5 * b0, rtol=1e-6, atol=1e-6)
        assert np.allclose(c[GUARD:GUARD + size], c0 - a0, rtol=1e-6, atol=1e-6)

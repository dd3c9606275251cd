"""Weighted sums of elements at places, and both gradients, against NumPy in float64; guard cells; threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucid_nb.kernels import memory, threads
from lucid_nb.kernels.sample import sample, sample_input_grad, sample_weight_grad

RANDOM = np.random.default_rng(4)


def drawn(batch, channels, size, points, taps, dtype=np.float64):
    x, g, weights = (RANDOM.normal(size=shape).astype(dtype) for shape in (
        (batch, channels, size), (batch, channels, points), (taps, batch, points)))
    return x, g, RANDOM.integers(0, size, (taps, batch, points)), weights


def matrix(places, weights, size):
    """(batch, points, size): what x is multiplied with."""
    found = np.zeros((*places.shape[1:], size))
    _, batch, points = np.indices(places.shape)
    np.add.at(found, (batch, points, places), weights)
    return found


@given(st.tuples(st.integers(0, 3), st.integers(1, 5), st.integers(1, 40), st.integers(0, 40), st.integers(1, 5)),
       st.sampled_from([np.float32, np.float64]))
def test_sampling_is_a_product_with_a_matrix(sizes, dtype):
    x, g, places, weights = drawn(*sizes, dtype)
    full = matrix(places, weights, sizes[2])
    tolerance = dict(rtol=1e-5, atol=1e-5) if dtype == np.float32 else dict(rtol=1e-12, atol=1e-12)
    found = sample(x, places, weights)
    assert found.dtype == dtype and np.allclose(found, np.einsum("bcs,bps->bcp", x, full), **tolerance)
    assert np.allclose(sample_input_grad(g, places, weights, sizes[2]), np.einsum("bcp,bps->bcs", g, full), **tolerance)
    taken = np.stack([np.take_along_axis(x, np.broadcast_to(at[:, None], g.shape), 2) for at in places])
    assert np.allclose(sample_weight_grad(x, g, places), (taken * g).sum(2), **tolerance)


def test_nothing_is_written_beside_the_results(monkeypatch):
    made = []

    def guarded(shape, dtype):
        made.append(np.full(int(np.prod(shape)) + 128, 7, dtype))
        return made[-1][64:-64].reshape(shape)
    monkeypatch.setattr(memory, "empty", guarded)
    x, g, places, weights = drawn(2, 3, 33, 21, 4)
    sample(x, places, weights), sample_input_grad(g, places, weights, 33), sample_weight_grad(x, g, places)
    assert len(made) == 3 and all(np.all(whole[:64] == 7) and np.all(whole[-64:] == 7) for whole in made)


@pytest.mark.parametrize("call", [lambda x, g, p, w: sample(x, p, w), lambda x, g, p, w: sample_weight_grad(x, g, p),
                                  lambda x, g, p, w: sample_input_grad(g, p, w, x.shape[2])])
def test_bits_do_not_depend_on_the_number_of_threads(call):
    operands, before, found = drawn(2, 16, 5000, 5000, 4, np.float32), threads.num_threads(), []
    for count in (1, 2):
        threads.set_num_threads(count)
        found.append(call(*operands))
    threads.set_num_threads(before)
    assert np.array_equal(*found)

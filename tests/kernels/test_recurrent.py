"""Recurrent layers on the CPU: bounds, threads, vector widths. What they compute: tests/nn/test_recurrent.py."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from lucid_nb import config
from lucid_nb.kernels.steps import kernel_of
from lucid_nb.shapes import Walk
from tests.nn.recurrences import sequence

recurrent = import_module("lucid_nb.kernels.recurrent")
RNG = np.random.default_rng(1)
MODES = [("lstm", 4), ("gru", 3), ("tanh", 1), ("relu", 1)]
FLOATS = ["float32", "float64"]
NAMES = {"lstm": "LSTM", "gru": "GRU", "tanh": "RNN_TANH", "relu": "RNN_RELU"}


def arrays(mode, gates, rows, batch, inputs, units, dtype):
    """Operands of a layer."""
    shapes = [(rows, inputs), (gates * units, inputs), (gates * units, units), (gates * units,), (gates * units,),
              *[(batch, units)] * (2 if mode == "lstm" else 1)]
    return [(RNG.normal(size=shape) / 3).astype(dtype) for shape in shapes]


def run(mode, walk, given):
    """The layer and its gradients."""
    results = recurrent.recurrent(*given, mode=mode, walk=walk)
    count = 2 if mode == "lstm" else 1
    slopes = [np.cos(np.arange(result.size, dtype=result.dtype)).reshape(result.shape)
              for result in results[:1 + count]]
    found = recurrent.recurrent_grad(*given[:3], tuple(given[5:]), results, tuple(slopes), mode, walk, [True] * 9)
    return [*results[:1 + count], *found]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("depth", "cols"), [(1, 1), (3, 15), (7, 16), (5, 63), (2, 64), (4, 65), (33, 130)])
def test_packing_puts_columns_in_panels_and_zeros_after_them(depth, cols, dtype):
    matrix = RNG.normal(size=(depth, cols)).astype(dtype)
    for given in (matrix, np.asfortranarray(matrix)):
        packed = recurrent.pack(given)
        width = 256 // matrix.itemsize
        panels = packed.reshape(-1, depth, width).transpose(1, 0, 2).reshape(depth, -1)
        assert np.array_equal(panels[:, :cols], matrix) and not panels[:, cols:].any()
        assert packed.ctypes.data % 64 == 0


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("mode", "gates"), MODES)
def test_rows_do_not_depend_on_the_rest_of_the_batch(mode, gates, dtype):
    given = arrays(mode, gates, 3 * 13, 13, 5, 21, dtype)
    walk = Walk((13,) * 3)
    whole = run(mode, walk, given)
    for row in range(13):
        one = [given[0].reshape(3, 13, 5)[:, row], *given[1:5], *[state[row:row + 1] for state in given[5:]]]
        out = recurrent.recurrent(*one, mode=mode, walk=Walk((1,) * 3))
        assert np.allclose(out[0], whole[0].reshape(3, 13, 21)[:, row], rtol=1e-6, atol=1e-7)


@drawn(st.sampled_from(MODES), st.lists(st.integers(1, 13), min_size=1, max_size=4), st.integers(1, 40),
       st.integers(1, 40), st.booleans(), st.sampled_from(FLOATS))
def test_layers_follow_their_definition_for_all_sizes(kind, sizes, inputs, units, is_reverse, dtype):
    sizes = sorted(sizes, reverse=True)
    given = arrays(*kind, sum(sizes), sizes[0], inputs, units, dtype)
    out, hidden, *_ = recurrent.recurrent(*given, mode=kind[0], walk=Walk(tuple(sizes), 1, is_reverse))
    starts, exact = np.cumsum([0, *sizes]), [array.astype(np.float64) for array in given]
    for row in range(sizes[0]):
        places = [starts[t] + row for t, size in enumerate(sizes) if row < size]
        wanted, last, _ = sequence(NAMES[kind[0]], exact[0][places], exact[5][row], exact[-1][row], exact[1:5],
                                   is_reverse)
        tolerance = 200 * np.finfo(dtype).eps
        assert np.allclose(out[places], wanted, rtol=tolerance, atol=tolerance)
        assert np.allclose(hidden[row], last, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("mode", "gates"), MODES)
@pytest.mark.parametrize("is_reverse", [False, True])
def test_bits_are_the_same_on_two_threads(mode, gates, is_reverse):
    given = arrays(mode, gates, 30 * 40, 40, 16, 64, "float32")
    found, before = [], config.num_threads
    for threads in (1, 2):
        config.num_threads = threads
        try:
            found.append(run(mode, Walk((40,) * 30, 1, is_reverse), given))
        finally:
            config.num_threads = before
    assert all(np.array_equal(one, two) for one, two in zip(*found))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("units", [1, 3, 16, 17, 65])
@pytest.mark.parametrize("batch", [1, 5, 6, 7])
def test_products_write_inside_their_result_only(batch, units, dtype):
    """The recurrence of one step over guarded memory: out = tanh(out + h W)."""
    guard = 64
    whole = RNG.normal(size=batch * units + 2 * guard).astype(dtype)
    out, before = whole[guard:-guard], whole.copy()
    weight, hidden = RNG.normal(size=(units, units)).astype(dtype), RNG.normal(size=(batch, units)).astype(dtype)
    expected = np.tanh(out.reshape(batch, units) + hidden.astype(float) @ weight)
    kernel = kernel_of("recurrent:tanh_forward", (np.dtype(dtype),) * 4 + (np.dtype(np.int64),) * 2, 6)
    sizes = np.array([batch]), np.array([0])
    recurrent.threads.launch(kernel, 1, 1, out, recurrent.pack(weight), np.zeros(units, dtype), hidden, sizes[1],
                             sizes[0], 1, units, 1, batch, batch, 0)
    assert np.allclose(out.reshape(batch, units), expected, rtol=1e-4, atol=1e-5)
    assert np.array_equal(hidden, out.reshape(batch, units))
    assert np.array_equal(whole[:guard], before[:guard]) and np.array_equal(whole[-guard:], before[-guard:])


def between_guards(array, guard=64):
    """A copy that begins at a line of the cache, the bytes around it, and how many of them come first."""
    room = np.full(array.nbytes + 2 * guard + 64, 0xA5, np.uint8)
    first = guard + -(room.ctypes.data + guard) % 64
    copy = room[first:first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy, room, first


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("units", [1, 3, 16, 33])
@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize(("mode", "gates"), MODES)
def test_layers_and_gradients_write_inside_their_arrays(mode, gates, is_reverse, units, dtype, monkeypatch):
    launch, sizes = recurrent._launch, (7, 7, 4, 1)
    given, walk = arrays(mode, gates, sum(sizes), 7, 5, units, dtype), Walk(sizes, 1, is_reverse)
    wanted, launched = run(mode, walk, given), []

    def guarded(name, operands, *facts):
        kept = [between_guards(array) for array in operands]
        launch(name, tuple([copy for copy, *_ in kept]), *facts)
        for array, (copy, room, first) in zip(operands, kept):
            array[...] = copy
            assert (room[:first] == 0xA5).all() and (room[first + array.nbytes:] == 0xA5).all(), name
        launched.append(name)
    monkeypatch.setattr(recurrent, "_launch", guarded)
    assert all(np.array_equal(one, two) for one, two in zip(run(mode, walk, given), wanted))
    assert launched == [f"{mode}_forward", f"{mode}_backward"]


@pytest.mark.sweep
@pytest.mark.parametrize("width", ["128", "256", "512"])
@pytest.mark.parametrize(("mode", "gates"), MODES)
def test_vector_widths_agree(mode, gates, width, monkeypatch):
    given, walk = arrays(mode, gates, 4 * 7, 7, 5, 19, "float64"), Walk((7,) * 4)
    expected = run(mode, walk, given)
    monkeypatch.setattr(config, "vector_width", width)
    found = run(mode, walk, given)
    assert all(np.allclose(one, two, rtol=1e-12, atol=1e-13) for one, two in zip(found, expected))

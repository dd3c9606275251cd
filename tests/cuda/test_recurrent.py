"""Recurrent layers beside the CPU's, which other tests hold to torch and to finite differences."""

import numpy as np
import pytest

import lucid_nb as lnb
import lucid_nb.cuda as table
from lucid_nb import kernels, nn
from lucid_nb.cuda import runtime
from lucid_nb.shapes import Walk

from .conftest import check_launches

RANDOM = np.random.default_rng(0)
GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}
INPUTS, UNITS = 3, 2
WALKS = [Walk((2, 2, 2)), Walk((3, 2, 1)), Walk((3, 2, 2, 1), 1, True), Walk((2, 2, 2), 3), Walk((2, 2), 2, True),
         Walk((1,))]


def operands(mode, walk, dtype):
    """x, weights, biases, states; then the gradients of states over time and of the last ones."""
    batch, rows, width, states = max(walk.sizes), sum(walk.sizes), GATES[mode] * UNITS, 1 + (mode == "lstm")
    shapes = [(rows, INPUTS), (width, INPUTS), (width, UNITS), (width,), (width,), *[(batch, UNITS)] * states]
    slopes = [(rows, UNITS), *[(batch, UNITS)] * states]
    return [[RANDOM.standard_normal(shape).astype(dtype) for shape in part] for part in (shapes, slopes)]


def both_ways(module, given, slopes, mode, walk, wanted):
    """The states, and all gradients that are wanted."""
    results = module.recurrent(*given, mode=mode, walk=walk)
    grads = module.recurrent_grad(*given[:3], given[5:], results, slopes, mode, walk, wanted)
    return [*results[:1 + len(given[5:])], *grads]


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize("walk", WALKS, ids=str)
def test_layers_give_what_the_cpu_gives(mode, walk):
    given, slopes = operands(mode, walk, "float64")
    theirs = both_ways(kernels, given, slopes, mode, walk, [True] * 5)
    devices = [list(map(table.from_numpy, part)) for part in (given, slopes)]
    for _ in range(2):                                         # operands are not overwritten
        mine = both_ways(table, *devices, mode, walk, [True] * 5)
        for one, other in zip(theirs, mine):
            np.testing.assert_allclose(table.to_numpy(other), one, rtol=1e-12, atol=1e-12)


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("mode", GATES)
def test_only_wanted_gradients_are_made_in_float32(mode):
    given, slopes = operands(mode, WALKS[1], "float32")
    wanted = [False, True, False, True, False]
    theirs = both_ways(kernels, given, slopes, mode, WALKS[1], wanted)
    mine = both_ways(table, list(map(table.from_numpy, given)), list(map(table.from_numpy, slopes)), mode, WALKS[1],
                     wanted)
    assert [raw is None for raw in mine] == [raw is None for raw in theirs]
    for one, other in zip(theirs, mine):
        if one is not None:
            np.testing.assert_allclose(table.to_numpy(other), one, rtol=1e-4, atol=1e-5)


@pytest.mark.cuda_simulator
def test_a_step_is_a_product_and_a_launch():
    walk = Walk((2, 2, 2))
    given, _ = operands("lstm", walk, "float32")
    devices = list(map(table.from_numpy, given))
    with runtime.kept_launches() as launched:
        table.recurrent(*devices, mode="lstm", walk=walk)
    names = [name for name, *_ in launched]
    assert names.count("lstm_cell") == 3 and set(names[-6:]) - {"lstm_cell"} == {"multiply"}


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_gradients_of_layers_to_second_order(kind):
    lnb.random.seed(0)
    layer, host = getattr(nn, kind)(2, 2, dtype="float64"), RANDOM.standard_normal((2, 2, 2))
    found = []
    for device in ("cpu", "cuda"):
        layer.to(device)
        x = lnb.tensor(host, device=device, requires_grad=True)
        out, _ = layer(x)
        first = lnb.autograd.grad((out * out).sum(), [x, layer.weight_hh_l0], create_graph=True)
        second = lnb.autograd.grad(sum((g * g).sum() for g in first), [x, layer.weight_ih_l0])
        found.append([value.detach().to("cpu").numpy() for value in (out, *first, *second)])
    for one, other in zip(*found):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)


def test_any_size_is_a_launch(launches):
    """More than 2**31 gates in a step."""
    batch, units = 1 << 20, 1 << 10
    walk, dtype = Walk((batch, batch)), np.dtype("float32")
    shapes = [(2 * batch, 8), (4 * units, 8), (4 * units, units), (4 * units,), (4 * units,), *[(batch, units)] * 2]
    given = [table.empty(shape, dtype) for shape in shapes]
    results = table.recurrent(*given, mode="lstm", walk=walk)
    table.recurrent_grad(*given[:3], given[5:], results, [results[0], *given[5:]], "lstm", walk, [True] * 5)
    check_launches([(blocks, threads, *[given for given in arguments if not isinstance(given, tuple)])
                    for blocks, threads, *arguments in launches])

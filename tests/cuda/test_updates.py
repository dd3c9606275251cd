"""Optimizers on the GPU: the steps of the CPU, some arrays in each launch."""

import numpy as np
import pytest

import lucid_nb as lnb
import lucid_nb.cuda as table
from lucid_nb import optim, program
from lucid_nb.cuda import runtime
from lucid_nb.expr import trace

pytestmark = pytest.mark.cuda_simulator
SHAPES = [(3, 4), (70,), (1,), (0, 3), (2, 2, 2), (5,), (6,), (7,), (8,), (9,)]
RULES = [("SGD", {}), ("SGD", dict(momentum=0.9, nesterov=True, weight_decay=0.1)), ("Adam", {}),
         ("AdamW", dict(amsgrad=True))]


def trained(device, rule, options, dtype, steps=3):
    draw = np.random.default_rng(0)
    params = [lnb.tensor(draw.normal(size=shape), dtype=dtype, device=device, requires_grad=True) for shape in SHAPES]
    optimizer = getattr(optim, rule)(params, lr=0.1, **options)
    for _ in range(steps):
        for param in params:
            param.grad = lnb.tensor(draw.normal(size=param.shape), dtype=dtype, device=device)
        optimizer.step()
    return [param.detach().to("cpu").numpy() for param in params]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule, options", RULES)
def test_steps_are_those_of_the_cpu(rule, options, dtype):
    eps = np.finfo(dtype).eps
    for ours, expected in zip(trained("cuda", rule, options, dtype), trained("cpu", rule, options, dtype)):
        np.testing.assert_allclose(ours, expected, rtol=8 * eps, atol=8 * eps)


def test_a_step_is_a_launch_for_eight_arrays_and_no_copy():
    draw = np.random.default_rng(0)
    params = [lnb.tensor(draw.normal(size=4), device="cuda", requires_grad=True) for _ in range(10)]
    optimizer = optim.Adam(params)
    for param in params:
        param.grad = lnb.ones_like(param)
    optimizer.step()
    with runtime.kept_launches() as launches:
        optimizer.step()
    assert [name for name, *_ in launches] == ["update", "update"]


def test_views_are_written_where_they_lie():
    memory = table.from_numpy(np.arange(12.0))
    typed = program.type_program(trace(lambda m, x, g, rate: x - rate * g, 3), ["float64"] * 3, table.NATIVE(), False)
    part = table.slice(memory, (slice(3, 7),))
    slope = table.full((4,), 2.0, np.dtype("float64"))
    table.update(table.map(typed, "descend"), [[part, slope]], np.array([0.5]), (0,))
    assert table.to_numpy(memory).tolist() == [0, 1, 2, 2, 3, 4, 5, 7, 8, 9, 10, 11]

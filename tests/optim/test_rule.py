"""Steps over whole groups at once. Oracle: the same formula one parameter at a time; torch where it is installed."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.backend import table
from lucid_nb.optim import SGD, Adam, AdamW

RNG = np.random.default_rng(2)
SIZES = [0, 1, 15, 16, 17, 4095, 4096, 4097, 20000]
KINDS = [(SGD, dict(lr=0.1)), (SGD, dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)), (Adam, dict(lr=0.1)),
         (AdamW, dict(lr=0.1, amsgrad=True))]


def walk(arrays, kind, options, steps=3):
    """Where parameters end, each step's gradients being drawn anew."""
    random = np.random.default_rng(7)
    params = [lnb.nn.Parameter(array) for array in arrays]
    optimizer = kind(params, **options)
    for _ in range(steps):
        for p in params:
            p.grad = lnb.asarray(random.normal(size=p.shape).astype(p.dtype))
        optimizer.step()
    return [p.detach().to_host().copy() for p in params], optimizer


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_a_group_steps_as_each_of_its_parameters_alone(kind, options, dtype):
    arrays = [RNG.normal(size=size).astype(dtype) for size in SIZES]
    together, optimizer = walk(arrays, kind, options)
    random = np.random.default_rng(7)
    gradients = [[random.normal(size=size).astype(dtype) for size in SIZES] for _ in range(3)]
    for number, array in enumerate(arrays):
        p = lnb.nn.Parameter(array)
        alone = kind([p], **options)
        for drawn in gradients:
            state = alone.state.setdefault(p, {})
            step, names, numbers = alone.rule(state, alone.param_groups[0])
            for name in names:
                state.setdefault(name, lnb.zeros_like(p.detach()))
            raws = [p.raw, drawn[number], *[state[name].raw for name in names]]
            new, *parts = step.renewed(table("cpu"), [raws], numbers)[0]
            state.update(zip(names, map(lnb.asarray, parts)))
            with lnb.no_grad():
                p[...] = lnb.asarray(new)
        # Whether a product and a sum are rounded once or twice is another choice where numbers are constants.
        unit = np.finfo(dtype).eps
        assert np.allclose(p.detach().numpy(), together[number], rtol=4 * unit, atol=4 * unit)
    for p in optimizer.param_groups[0]["params"]:
        assert all(part.dtype == p.dtype for part in optimizer.state[p].values() if isinstance(part, lnb.Tensor))


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_a_step_has_the_same_bits_on_two_threads(kind, options):
    arrays = [RNG.normal(size=size).astype(np.float32) for size in (300000, 5, 70000)]
    found = []
    for threads in (1, 2):
        before = lnb.get_num_threads()
        lnb.set_num_threads(threads)
        try:
            found.append(walk(arrays, kind, options)[0])
        finally:
            lnb.set_num_threads(before)
    assert all(np.array_equal(one, two) for one, two in zip(*found))


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_half_precision_beside_float32_steps_too(kind, options):
    arrays = [RNG.normal(size=(3, 4)) for _ in range(2)]
    plain, _ = walk(arrays, kind, options)
    for number, dtype in ((0, "float16"), (1, "bfloat16")):
        mixed = [array.astype(np.float32) for array in arrays]
        params = [lnb.nn.Parameter(array, dtype=dtype if k == number else None) for k, array in enumerate(mixed)]
        optimizer, random = kind(params, **options), np.random.default_rng(7)
        for _ in range(3):
            for p in params:
                p.grad = lnb.asarray(random.normal(size=p.shape)).astype(p.dtype)
            optimizer.step()
        assert str(params[number].dtype) == dtype
        for p, wanted in zip(params, plain):
            assert np.allclose(p.detach().to_host().astype(float), wanted, rtol=0.05, atol=0.05)


def test_gradients_that_lie_across_are_read_in_their_order():
    p = lnb.nn.Parameter(np.zeros((3, 4), np.float32))
    g = RNG.normal(size=(4, 3)).astype(np.float32)
    p.grad = lnb.asarray(g).T
    SGD([p], lr=1.0).step()
    assert np.array_equal(p.detach().numpy(), -g.T)


def test_a_step_counts_as_a_write_of_what_a_graph_has_saved():
    p = lnb.nn.Parameter(np.ones(3, np.float32))
    loss = (p * p).sum()
    p.grad = lnb.ones(3, dtype="float32")
    SGD([p], lr=1.0).step()
    with pytest.raises(lnb.errors.GradError, match=r"overwritten by SGD.step"):
        loss.backward()


def test_read_only_parameters_are_refused():
    p = lnb.nn.Parameter(np.ones(3, np.float32))
    p.raw.flags.writeable = False
    p.grad = lnb.ones(3, dtype="float32")
    with pytest.raises(lnb.errors.ShapeError, match=r"SGD.step: the memory is read-only"):
        SGD([p], lr=1.0).step()


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_keywords_that_choose_an_implementation_are_accepted(kind):
    arrays = [RNG.normal(size=5)]
    plain, chosen = walk(arrays, kind, {}), walk(arrays, kind, dict(foreach=False, fused=True))
    assert np.array_equal(plain[0], chosen[0])


def test_adam_with_decoupled_decay_is_adamw():
    arrays = [RNG.normal(size=5)]
    one = walk(arrays, Adam, dict(weight_decay=0.1, decoupled_weight_decay=True))
    assert np.array_equal(one[0], walk(arrays, AdamW, dict(weight_decay=0.1))[0])

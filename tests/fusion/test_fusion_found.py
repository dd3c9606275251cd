"""What a fused function finds: constants that it takes apart, makes and chooses, against the plain function."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import BackendError
from lucid_nb.testing import assert_close

V = lnb.tensor([0.3, 0.1, 0.7])
N, F, B = lnb.tensor([2, 0, 1]), lnb.tensor([0.0, 2.0, 1.0]), lnb.tensor([True, False, True])
TAKEN = {"element": lambda x: x * V[0] + V[1], "iteration": lambda x: [x * v for v in V], "unpacking": lambda x: (
    lambda a, b, c: x * a + b * c)(*V), "stack": lambda x: x * lnb.stack(V), "unstack": lambda x: x * lnb.unstack(V)[2],
    "own element": lambda x: x * x[0], "full": lambda x: x * lnb.full(3, 2.5), "like": lambda x: lnb.full_like(x, 2),
    "unique": lambda x: (x, lnb.unique(V)), "union": lambda x: (x, lnb.union1d(V, F)),
    "unique_counts": lambda x: (x, *lnb.unique(N, return_counts=True)), "tensor": lambda x: x * lnb.tensor(V)}
CHOSEN = {"float condition": lambda x: lnb.where(F, 5, 7), "condition of x": lambda x: lnb.where(x, 5, 7),
          "int condition": lambda x: lnb.where(N, 2.5, 7), "with x": lambda x: lnb.where(F, x, 7),
          "number as condition": lambda x: lnb.where(2, x, 7), "truth as condition": lambda x: lnb.where(False, x, 7),
          "ints": lambda x: lnb.where(0, N, 3), "bools": lambda x: lnb.where(F, B, True),
          "angle of bools": lambda x: lnb.angle(B) + x}


@pytest.mark.parametrize("function", [*TAKEN.values(), *CHOSEN.values()], ids=[*TAKEN, *CHOSEN])
def test_found_constants_give_what_they_give_outside(function):
    x = lnb.tensor([1.0, 0.0, -2.0])
    fused = lnb.fuse(function)
    expected = lnb.trees.flatten(function(x))[0]
    for _ in range(2):
        found = lnb.trees.flatten(fused(x))[0]
        assert [part.dtype for part in found] == [part.dtype for part in expected]
        for part, wanted in zip(found, expected):
            assert_close(part, wanted.numpy(), rtol=1e-12)


def test_elements_of_constants_are_read_at_each_call():
    scale = lnb.tensor([2.0, 3.0])
    fused = lnb.fuse(lambda x: x * scale[0])
    first = fused(lnb.ones(2)).tolist()
    scale[0] = 5.0
    assert first == [2, 2] and fused(lnb.ones(2)).tolist() == [5, 5]
    assert lnb.grad(lambda s: lnb.fuse(lambda x: (x * s[0] * s[1]).sum())(lnb.ones(2)))(scale).tolist() == [6, 10]


@pytest.mark.parametrize("use", [
    lambda x: x + 1, lambda x: lnb.ones(2) + x, lambda x: x.sum(), lambda x: float(x[0]), lambda x: np.sin(x),
    lambda x: lnb.ones(2).__setitem__(0, x[0]), lambda x: x.backward(), lambda x: lnb.fuse(lambda y: y * 10 + x * 100)(
        lnb.ones(2)), lambda x: lnb.vmap(lambda y: y * x)(lnb.ones((3, 2)))])
def test_what_was_kept_from_a_trace_has_no_value(use):
    kept = []
    lnb.fuse(lambda x: kept.append(x * 2) or x * 3)(lnb.ones(2))
    with pytest.raises(BackendError, match="a tensor from inside a function that was traced has no value"):
        use(kept[0])

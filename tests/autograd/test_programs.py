"""Random programs: gradients against finite differences, and each way to differentiate or to run against the others."""

import numpy as np
import pytest
from hypothesis import given, settings

import lucid_nb as lnb
from lucid_nb import config
from lucid_nb.testing import assert_close, check_grad
from tests.autograd.programs import EXACT, FEW, RECORDS, STEPS, programs

FUSED = [*sorted(RECORDS), "where", "sum", "mean", "softmax", "cast", "add_everywhere"]


def total(program):
    """A number of a program's result, in which its elements have different weights."""
    def loss(*inputs):
        y = program(*inputs)
        return (y * lnb.cos(lnb.arange(float(y.size))).reshape(y.shape)).sum()
    return loss


def gradients(f, inputs):
    """By all inputs."""
    return lnb.grad(f, tuple(range(len(inputs))))(*inputs)


def close(found, expected, tolerance=1e-12):
    """Equal up to rounding of what was added up: the values are near 1."""
    assert_close(found, expected, rtol=tolerance, atol=tolerance)


def check_differences(drawn):
    program, inputs = drawn
    check_grad(program, *inputs)


def check_modes(drawn):
    """The Jacobian by rows, by columns; the Hessian forward over reverse, and reverse over reverse."""
    program, inputs = drawn
    numbers = tuple(range(len(inputs)))
    forward, reverse = [lnb.jacobian(program, numbers, mode=mode)(*inputs) for mode in ("forward", "reverse")]
    narrow = any(name == "narrow_cast" for name, _, _ in program.steps)
    for a, b in zip(forward, reverse):
        close(a, b, 1e-4 if narrow else 1e-11)
    vectors = [np.cos(np.arange(x.size)).reshape(x.shape) for x in inputs]
    forward = lnb.hvp(total(program), tuple(inputs), tuple(vectors))
    reverse = gradients(lambda *x: sum((g * v).sum() for g, v in zip(gradients(total(program), x), vectors)), inputs)
    for a, b in zip(forward, reverse):
        close(a, b, 1e-3 if narrow else 1e-9)


def check_vmap(drawn):
    program, inputs = drawn
    batches = [np.stack([x, -x / 2, x[..., ::-1] if x.ndim else x + 1]) for x in inputs]
    for f in (program, lambda *x: gradients(total(program), x)):
        found = lnb.vmap(f)(*batches)
        for number in range(3):
            expected = f(*[lnb.asarray(x[number]) for x in batches])
            for a, b in zip(found if isinstance(found, tuple) else [found],
                            expected if isinstance(expected, tuple) else [expected]):
                close(a[number], b)


def check_checkpoint(drawn):
    program, inputs = drawn
    half = len(program.steps) // 2
    numbers = tuple(range(len(inputs)))
    plain = total(program)
    for f in (lambda *x: lnb.checkpoint(plain, *x), lambda *x: plain(*lnb.checkpoint(lambda *y: y, *x)),
              lambda *x: lnb.checkpoint(lambda *y: lnb.checkpoint(plain, *y) * 1.0, *x)):
        for found, expected in zip(gradients(f, inputs), gradients(plain, inputs)):
            close(found, expected)
    if half:
        return
    for a, b in zip(lnb.hessian(lambda *x: lnb.checkpoint(plain, *x), numbers)(*inputs),
                    lnb.hessian(plain, numbers)(*inputs)):
        for found, expected in zip(a, b):
            close(found, expected)


def check_fuse(drawn):
    program, inputs = drawn
    fused, expected = lnb.fuse(program), program(*map(lnb.asarray, inputs))   # first: steps read constants
    close(fused(*inputs), expected)
    assert "reads a value" not in fused.explain()
    for found, expected in zip(gradients(total(fused), inputs), gradients(total(program), inputs)):
        close(found, expected, 1e-11)
    vectors = tuple([np.sin(np.arange(x.size) + 1.0).reshape(x.shape) for x in inputs])
    for found, expected in zip(lnb.hvp(total(fused), tuple(inputs), vectors),
                               lnb.hvp(total(program), tuple(inputs), vectors)):
        close(found, expected, 1e-9)


def check_chains(drawn):
    program, inputs = drawn
    found = []
    before = config.fusion, config.fusion_threshold
    for fusion in (False, True):
        config.fusion, config.fusion_threshold = fusion, 0
        try:
            leaves = [lnb.tensor(x, requires_grad=True) for x in inputs]
            total(program)(*leaves).backward()
        finally:
            config.fusion, config.fusion_threshold = before
        found.append([x.grad for x in leaves])
    for unfused, fused in zip(*found):
        close(fused, unfused)


CHECKS = {"differences": (check_differences, EXACT, 5), "modes": (check_modes, sorted(STEPS), 4),
          "vmap": (check_vmap, EXACT, 8), "checkpoint": (check_checkpoint, EXACT, 8),
          "fuse": (check_fuse, FUSED, 6), "chains": (check_chains, EXACT, 15)}


@pytest.mark.parametrize("name", CHECKS)
def test_programs_agree(name):
    check, names, count = CHECKS[name]
    few = [step for step in names if step in FEW or step not in RECORDS]
    settings(max_examples=count)(given(programs(few))(check))()


@pytest.mark.sweep
@pytest.mark.parametrize("name", CHECKS)
def test_many_programs_agree(name):
    check, names, _ = CHECKS[name]
    settings(settings.get_profile("sweep"), max_examples=200)(given(programs(names))(check))()

"""Transforms inside each other, three deep, against the same of `torch.func`, which has other machinery for each."""

import numpy as np
import pytest

import lucid_nb as lnb

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
MATRIX = np.random.default_rng(0).standard_normal((3, 3))
V, X = np.array([0.3, -0.7, 1.1]), np.array([0.2, 0.5, -0.4])
ours, theirs = lnb.asarray, torch.tensor


def f(lib, x, matrix):
    """A function of three numbers that gives three."""
    return lib.sin(x) * x + lib.tanh(x @ matrix) * lib.exp(-x * x)


OURS = {
    "grad": lambda f: lnb.grad(lambda x: f(x).sum()),
    "jvp": lambda f: lambda x: lnb.jvp(f, (x,), (ours(V),))[1],
    "vjp": lambda f: lambda x: lnb.vjp(f, x)[1](ours(V))[0],
    "hvp": lambda f: lambda x: lnb.hvp(lambda y: f(y).sum(), x, ours(V)),
    "linearize": lambda f: lambda x: lnb.linearize(f, x)[1](ours(V)),
    "jacobian": lambda f: lambda x: lnb.jacobian(f)(x).sum(axis=0),
    "hessian": lambda f: lambda x: lnb.hessian(lambda y: f(y).sum())(x).sum(axis=0),
    "vmap": lambda f: lambda x: lnb.vmap(lambda s: f(x * s))(ours(V)).sum(axis=0),
    "vmap of columns": lambda f: lambda x: lnb.vmap(f, 1, 1)(lnb.stack([x, x * 2], 1)).prod(axis=1),
    "checkpoint": lambda f: lambda x: lnb.checkpoint(f, x),
    "fuse": lnb.fuse,
}
THEIRS = {
    "grad": lambda f: torch.func.grad(lambda x: f(x).sum()),
    "jvp": lambda f: lambda x: torch.func.jvp(f, (x,), (theirs(V),))[1],
    "vjp": lambda f: lambda x: torch.func.vjp(f, x)[1](theirs(V))[0],
    "hvp": lambda f: lambda x: torch.func.jvp(torch.func.grad(lambda y: f(y).sum()), (x,), (theirs(V),))[1],
    "jacobian": lambda f: lambda x: torch.func.jacrev(f)(x).sum(0),
    "hessian": lambda f: lambda x: torch.func.hessian(lambda y: f(y).sum())(x).sum(0),
    "vmap": lambda f: lambda x: torch.func.vmap(lambda s: f(x * s))(theirs(V)).sum(0),
    "vmap of columns": lambda f: lambda x: torch.func.vmap(f, 1, 1)(torch.stack([x, x * 2], 1)).prod(1),
    "checkpoint": lambda f: f, "fuse": lambda f: f,
}
THEIRS["linearize"] = THEIRS["jvp"]
# Inner ones first. The second run of checkpoint within gradients, its levels of vmap, constants that leave a level,
# and the transposes of ops that are not linear within one: each family was wrong once.
COMPOSED = """
checkpoint grad checkpoint; grad checkpoint; grad vmap checkpoint; grad fuse checkpoint; vjp grad checkpoint
jvp vmap checkpoint; vmap vjp checkpoint; hvp vmap of columns checkpoint; linearize checkpoint jacobian
jacobian linearize checkpoint; hessian hvp checkpoint; vmap checkpoint hessian; checkpoint vmap grad
jacobian grad vmap; hessian grad vmap of columns; vmap grad vmap; vmap vmap vmap of columns
vmap of columns jacobian vmap; vmap of columns vmap jacobian; vmap of columns vmap of columns hessian
fuse vmap hessian; grad fuse jacobian; vmap fuse vmap; jvp jvp fuse; hvp hvp; linearize grad linearize
"""


def names_of(text):
    """The transforms of one line."""
    return [name.replace("_of_", " of ") for name in text.replace(" of ", "_of_").split()]


@pytest.mark.parametrize("text", [part.strip() for part in COMPOSED.replace("\n", ";").split(";") if part.strip()])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_composed_transforms_agree_with_torch(text, requires_grad):
    def ours_of(x):
        return f(lnb, x, ours(MATRIX))

    def theirs_of(x):
        return f(torch, x, theirs(MATRIX))
    for name in names_of(text):
        ours_of, theirs_of = OURS[name](ours_of), THEIRS[name](theirs_of)
    found = ours_of(lnb.tensor(X, dtype="float64", requires_grad=requires_grad))
    assert found.requires_grad == requires_grad
    np.testing.assert_allclose(found.detach().numpy(), theirs_of(theirs(X)).numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", ["cumprod", "prod", "logcumsumexp"])
def test_jacobians_of_examples_of_ops_whose_push_is_a_transpose(name, mode):
    def of(lib, x):
        return lib.stack([x, x * x]).prod(0) if name == "prod" else getattr(lib, name)(x, 0)
    batch = np.outer([0.3, -0.7, 1.1], X) + 2
    found = lnb.vmap(lnb.jacobian(lambda x: of(lnb, x), mode=mode))(ours(batch))
    expected = torch.func.vmap(torch.func.jacrev(lambda x: of(torch, x)))(theirs(batch))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-10, atol=1e-12)

"""Random transforms, three deep, of functions of many kinds, and the gradient through all, beside `torch.func`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucid_nb as lnb
from tests.autograd import test_compositions

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.sweep, pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")]
M, V, X = test_compositions.MATRIX, test_compositions.V, test_compositions.X
FAR = np.array([5.0, 1.0, 3.0])                  # further apart than the values: no ties
ours, theirs = lnb.asarray, torch.tensor


def written(x):
    """Writes into a part, a view and the whole."""
    y = lnb.sin(x) * 1
    y[0] = x[1] * x[2]
    y[1:] *= x[:2]
    y += x
    return y


def not_written(x):
    y = torch.sin(x)
    return torch.stack([x[1] * x[2], y[1] * x[0], y[2] * x[1]]) + x


def of_complex(lib, x):
    z = lib.exp(1j * x) * (x + 2j)
    return (z * z.conj()).real + z.imag * x


def convolved(functional, x, kernel):
    return functional.conv1d(x[None, None], kernel[None, None] * x[0], padding=1)[0, 0]


FUNCTIONS = {
    "broadcasting": (lambda x: (x[:, None] * x + ours(M[:1].T)).sum(0) * lnb.exp(x),
                     lambda x: (x[:, None] * x + theirs(M[:1].T)).sum(0) * torch.exp(x)),
    "matmul": (lambda x: lnb.tanh(x @ ours(M)) @ ours(M).T * x, lambda x: torch.tanh(x @ theirs(M)) @ theirs(M).T * x),
    "index": (lambda x: x[ours([2, 0, 0])] * lnb.exp(x[1:].sum()), lambda x: x[theirs([2, 0, 0])] * x[1:].sum().exp()),
    "where": (lambda x: lnb.where(x > 0.1, x ** 5, lnb.sin(x)), lambda x: torch.where(x > 0.1, x ** 5, torch.sin(x))),
    "sort": (lambda x: lnb.sort(lnb.sin(x) + ours(FAR)) * x, lambda x: torch.sort(torch.sin(x) + theirs(FAR))[0] * x),
    "cumsum": (lambda x: lnb.cumsum(lnb.sin(x), 0) * x, lambda x: torch.cumsum(torch.sin(x), 0) * x),
    "softmax": (lambda x: lnb.softmax(x * x[0], axis=0) * x, lambda x: torch.softmax(x * x[0], 0) * x),
    "reductions": (lambda x: lnb.var(x * x) * x + lnb.logsumexp(x, 0) * x.mean(),
                   lambda x: torch.var(x * x, correction=0) * x + torch.logsumexp(x, 0) * x.mean()),
    "convolution": (lambda x: convolved(lnb.nn.functional, lnb.tanh(x), ours(V)),
                    lambda x: convolved(torch.nn.functional, torch.tanh(x), theirs(V))),
    "writes": (written, not_written), "power": (lambda x: (x * x + 0.5) ** x,) * 2,
    "complex": (lambda x: of_complex(lnb, x), lambda x: of_complex(torch, x)),
    "rows": (lambda x: lnb.softmax(x + x[:, None] * ours(M), axis=-1).sum(0) * x,
             lambda x: torch.softmax(x + x[:, None] * theirs(M), -1).sum(0) * x),
    "attention": (lambda x: lnb.nn.functional.scaled_dot_product_attention(
        *[(part * ours(M))[None, None] for part in (x[:, None], x, x)])[0, 0].sum(0),
        lambda x: (torch.softmax((x[:, None] * theirs(M)) @ (x * theirs(M)).T / 3 ** 0.5, -1) @ (x * theirs(M))).sum(0))
}


def with_rule(f):
    """Its gradient as a rule of its own."""
    found = lnb.custom_vjp(lambda x: f(x))
    found.defvjp(lambda x: (f(x), x), lambda x, g: (lnb.vjp(f, x)[1](g)[0],))
    return found


def with_push(f):
    """Its tangent as a rule of its own."""
    found = lnb.custom_jvp(lambda x: f(x))
    found.defjvp(lambda primals, tangents: lnb.jvp(f, primals, tangents))
    return found


OURS = test_compositions.OURS | {
    "custom_vjp": with_rule, "custom_jvp": with_push, "stop": lambda f: lambda x: f(x) * lnb.stop_gradient(x),
    "columns": lambda f: lambda x: (lnb.jacobian(f, mode="forward")(x) * ours(M)).sum(axis=0),
    "pairs": lambda f: lambda x: lnb.vmap(lambda a, b: f(a) * b, (0, 1), -1)(
        lnb.stack([x, x * 2]), lnb.stack([x, x - 1], 1)).sum(-1),
    "shared": lambda f: lambda x: lnb.vmap(lambda a, b: f(a) + b, (None, 0))(x, ours(M)).mean(0)}
THEIRS = test_compositions.THEIRS | {
    "custom_vjp": lambda f: f, "custom_jvp": lambda f: f, "stop": lambda f: lambda x: f(x) * x.detach(),
    "columns": lambda f: lambda x: (torch.func.jacfwd(f)(x) * theirs(M)).sum(0),
    "pairs": lambda f: lambda x: torch.func.vmap(lambda a, b: f(a) * b, (0, 1), -1)(
        torch.stack([x, x * 2]), torch.stack([x, x - 1], 1)).sum(-1),
    "shared": lambda f: lambda x: torch.func.vmap(lambda a, b: f(a) + b, (None, 0))(x, theirs(M)).mean(0)}


@settings(settings.get_profile("sweep"), max_examples=200)
@given(st.sampled_from(sorted(FUNCTIONS)), st.lists(st.sampled_from(sorted(OURS)), min_size=1, max_size=3))
def test_random_transforms_and_the_gradient_through_them(name, transforms):
    found, expected = FUNCTIONS[name]
    for transform in transforms:
        found, expected = OURS[transform](found), THEIRS[transform](expected)
    x = lnb.tensor(X, dtype="float64", requires_grad=True)
    y = found(x)
    (y * ours(V)).sum().backward()
    slopes, values = torch.func.grad_and_value(lambda x: (expected(x) * theirs(V)).sum())(theirs(X))
    size = 1 + slopes.abs().max().item()
    np.testing.assert_allclose((y.detach().numpy() * V).sum(), values.numpy(), rtol=1e-8, atol=1e-8 * size)
    np.testing.assert_allclose(x.grad.numpy(), slopes.numpy(), rtol=1e-7, atol=1e-7 * size)

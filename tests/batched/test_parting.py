"""Maps in two parts: the same values, and the costly part of a derivative only once for each example."""

import math

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.batched import parting
from lucid_nb.expr import trace
from lucid_nb.program import type_program

X = np.random.default_rng(2).normal(size=(40, 64))
SLOPES = {"tanh": lambda x: 1 / np.cosh(x) ** 2, "exp": np.exp, "sin": np.cos,
          "erf": lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x)}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("name", SLOPES)
def test_jacobians_of_each_example_are_diagonal(name, dtype, monkeypatch):
    sizes = []

    def seen(raws, apart, in_two=parting.in_two):
        found = in_two(raws, lambda number: [counted(kernel) for kernel in apart(number) or ()] or None)
        return found

    def counted(kernel):
        def call(*raws):
            found = kernel(*raws)
            sizes.append(found.size)
            return found
        return call
    monkeypatch.setattr("lucid_nb.batched.elementwise.in_two", seen)
    x = lnb.tensor(X.astype(dtype))
    found = lnb.vmap(lnb.jacobian(getattr(lnb, name), mode="reverse"))(x)
    exact = SLOPES[name](x.numpy().astype("float64"))[:, :, None] * np.eye(64)
    assert found.dtype == dtype
    np.testing.assert_allclose(found.numpy(), exact, rtol=8 * np.finfo(dtype).eps, atol=1e-7)
    if name != "exp":                             # whose slope is its result
        assert sizes == [X.size, 64 * X.size]


@pytest.mark.parametrize("complexes", [False, True])
def test_parts_compute_what_the_whole_does(complexes):
    def formula(m, a, b):
        return m.where(b > 0, m.exp(a) * m.sin(a) + 2, 1) * b
    dtypes = ("float32", "complex64" if complexes else "float64")
    if complexes:
        def formula(m, a, b):
            return m.exp(a) * 0.5 * b
    whole = type_program(trace(formula, 2), dtypes)
    first, rest = parting.parted(whole, 0)
    assert first.inputs == ("float32",) and rest.inputs[1] == dtypes[1] and rest.results == whole.results
    kernels = lnb.backend.table("cpu")
    a, b = np.linspace(-2, 2, 7, dtype="float32"), np.linspace(-1, 1, 7).astype(dtypes[1])
    alone = kernels.map(first, "alone")(a)
    assert alone.dtype == first.results[0]
    np.testing.assert_array_equal(kernels.map(rest, "rest")(alone, b), kernels.map(whole, "whole")(a, b))


def test_what_costs_little_or_reads_both_stays_whole():
    for formula in (lambda m, a, b: a + b, lambda m, a, b: (a * a) * b, lambda m, a, b: m.exp(a * b),
                    lambda m, a, b: m.exp(a) * b + m.sin(a)):
        program = type_program(trace(formula, 2), ("float64", "float64"))
        assert parting.parted(program, 0) is None

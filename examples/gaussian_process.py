"""Regression by a Gaussian process whose hyperparameters are found by the gradient of the marginal likelihood.

The Cholesky factor is an ordinary program, differentiated like any other. The likelihood is compared with SciPy's, its
gradient with the closed form (C. Rasmussen and C. Williams, "Gaussian Processes for Machine Learning", 2006, equation
5.9).
"""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import lucid_nb as lnb
from lucid_nb import Tensor

random = np.random.default_rng(0)
x = np.sort(random.uniform(-3, 3, 30))
y = np.sin(2 * x) + 0.1 * random.normal(size=30)


def covariance(a: Tensor, b: Tensor, p: dict) -> Tensor:
    """How much values at a and b have in common: it falls with their squared distance."""
    distance = (a[:, None] - b) / lnb.exp(p["length"])
    return lnb.exp(2 * p["height"] - distance ** 2 / 2)


def of_data(p: dict) -> Tensor:
    """The covariance of the data, which have noise."""
    return covariance(lnb.asarray(x), lnb.asarray(x), p) + lnb.exp(2 * p["noise"]) * lnb.eye(len(x))


def cholesky(matrix: Tensor) -> Tensor:
    """The lower triangle L with L L' = matrix, column by column."""
    columns = []
    for j in range(len(matrix)):
        column = matrix[:, j]
        if columns:
            before = lnb.stack(columns, axis=1)
            column = column - before @ before[j]
        columns.append(lnb.where(np.arange(len(matrix)) < j, 0.0, column / lnb.sqrt(column[j])))
    return lnb.stack(columns, axis=1)


def solved(lower: Tensor, right: Tensor) -> Tensor:
    """The v with lower v = right, by forward substitution."""
    parts = []
    for j in range(len(lower)):
        known = lower[j, :j] @ lnb.stack(parts) if parts else 0.0
        parts.append((right[j] - known) / lower[j, j])
    return lnb.stack(parts)


def loss(p: dict) -> Tensor:
    """Minus the logarithm of the marginal likelihood."""
    lower = cholesky(of_data(p))
    white = solved(lower, lnb.asarray(y))
    return (white ** 2).sum() / 2 + lnb.log(lnb.diagonal(lower)).sum() + len(x) / 2 * np.log(2 * np.pi)


def closed_form(p: dict) -> dict:
    """The gradient of the loss by NumPy: half the trace of (inverse - a a') dK."""
    K = of_data(p).numpy()
    inverse = np.linalg.inv(K)
    a = inverse @ y
    signal, square = K - np.exp(2 * p["noise"]) * np.eye(len(x)), (x[:, None] - x) ** 2 / np.exp(2 * p["length"])
    by = {"length": signal * square, "height": 2 * signal, "noise": 2 * np.exp(2 * p["noise"]) * np.eye(len(x))}
    return {name: np.trace((inverse - np.outer(a, a)) @ by[name]) / 2 for name in p}


start = {"length": 0.0, "height": 0.0, "noise": -1.0}
value, gradient = lnb.value_and_grad(loss)(start)
expected = multivariate_normal(np.zeros(30), of_data(start).numpy()).logpdf(y)
print(f"likelihood {-value.item():.10f}, SciPy {expected:.10f}")
print(f"gradients differ by {max(abs(gradient[name].item() - g) for name, g in closed_form(start).items()):.1e}")


def flat(v: np.ndarray) -> tuple[float, list]:
    value, g = lnb.value_and_grad(loss)(dict(zip(start, v)))
    return value.item(), [g[name].item() for name in start]


found = minimize(flat, list(start.values()), jac=True, method="L-BFGS-B")
best = dict(zip(start, found.x))
print(f"likelihood {-found.fun:.2f} after {found.nit} steps; noise {np.exp(best['noise']):.3f} (true 0.100)")

places = np.linspace(-2.5, 2.5, 41)
across = covariance(lnb.asarray(places), lnb.asarray(x), best).numpy()
mean = across @ np.linalg.solve(of_data(best).numpy(), y)
print(f"prediction within {np.abs(mean - np.sin(2 * places)).max():.3f} of sin(2 x)")

"""Implicit differentiation: the gradient of a fixed point from the point alone, whatever iteration led to it.

Where x = f(p, x), the gradient g of x becomes w = g + w df/dx, another fixed point, and that of p is w df/dp. Nothing
of the iteration is kept. Two checks: Kepler's equation, whose derivatives have a closed form, and a layer of a network
that is applied until nothing changes, beside backward through all its iterations.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import lucid_nb as lnb
from lucid_nb import Tensor


def iterate(f: Callable, start: Tensor, tolerance: float = 1e-13, limit: int = 1000) -> Tensor:
    """x = f(x), again and again, until it stays."""
    x = start
    for _ in range(limit):
        before, x = x, f(x)
        if lnb.abs(x - before).max() <= tolerance:
            break
    return x


def solve(f: Callable, parameters: Any, start: Tensor) -> Tensor:
    """The x with x = f(parameters, x)."""
    return iterate(lambda x: f(parameters, x), start)


def solve_forward(f: Callable, parameters: Any, start: Tensor) -> tuple:
    """The fixed point, and what backward needs: itself and the parameters."""
    x = solve(f, parameters, start)
    return x, (parameters, x)


def solve_backward(f: Callable, residuals: tuple, g: Tensor) -> tuple:
    """The gradient of the parameters; the start has none."""
    parameters, x = residuals
    by_x = lnb.vjp(lambda x: f(parameters, x), x)[1]
    w = iterate(lambda w: g + by_x(w)[0], g)
    by_parameters = lnb.vjp(lambda parameters: f(parameters, x), parameters)[1]
    return by_parameters(w)[0], None


fixed_point = lnb.custom_vjp(solve, nondiff_argnums=0)
fixed_point.defvjp(solve_forward, solve_backward)


# Kepler's equation: the eccentric anomaly E = M + e sin(E) of a planet, of its mean anomaly M and eccentricity e.
def kepler(orbit: dict, anomaly: Tensor) -> Tensor:
    return orbit["M"] + orbit["e"] * lnb.sin(anomaly)


orbit = {"M": 0.8, "e": 0.6}
E, by_orbit = lnb.value_and_grad(lambda orbit: fixed_point(kepler, orbit, lnb.tensor(1.0)))(orbit)
exact = {"M": 1 / (1 - 0.6 * np.cos(E.item())), "e": np.sin(E.item()) / (1 - 0.6 * np.cos(E.item()))}
for name, g in by_orbit.items():
    print(f"dE/d{name} {g.item():.12f}, closed form {exact[name]:.12f}")
second = lnb.hessian(lambda M: fixed_point(kepler, {"M": M, "e": 0.6}, lnb.tensor(1.0)))(0.8).item()
print(f"d2E/dM2 {second:.10f}, closed form {-0.6 * np.sin(E.item()) * exact['M'] ** 3:.10f}")


# A layer that feeds itself, tanh(W h + U x), and the loss of what it settles to.
random = np.random.default_rng(0)
x, target = random.normal(size=(2, 20))
weights = {"W": 0.4 * random.normal(size=(20, 20)) / np.sqrt(20), "U": random.normal(size=(20, 20)) / np.sqrt(20)}


def layer(p: dict, h: Tensor) -> Tensor:
    return lnb.tanh(p["W"] @ h + p["U"] @ x)


def loss(solver: Callable) -> Callable:
    return lambda p: ((solver(layer, p, lnb.zeros(20)) - target) ** 2).sum()


implicit, unrolled = lnb.grad(loss(fixed_point))(weights), lnb.grad(loss(solve))(weights)
differences = [lnb.abs(implicit[name] - unrolled[name]).max().item() for name in weights]
print(f"implicit and unrolled gradients differ by {max(differences):.1e}")

"""The gradient of the solution of a differential equation, through the steps of a Runge-Kutta method.

Hares and lynxes (A. Lotka and V. Volterra): backward through the solver is compared with the sensitivity equations,
which SciPy integrates beside the system; then the four rates are found from noisy counts.
"""

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import lucid_nb as lnb
from lucid_nb import Tensor

RATES, START = np.array([0.6, 0.025, 0.8, 0.02]), np.array([35.0, 4.0])
TIMES = np.linspace(0, 12, 61)


def change(state: Tensor, rates: Any) -> Tensor:
    """Births of hares, hares caught, deaths of lynxes, and births where they caught some."""
    hares, lynxes = state
    return lnb.stack([rates[0] * hares - rates[1] * hares * lynxes, rates[3] * hares * lynxes - rates[2] * lynxes])


def solve(rates: Any, substeps: int = 4) -> Tensor:
    """The counts at all times, by the classical method of fourth order (W. Kutta, 1901)."""
    state, states = lnb.asarray(START), [lnb.asarray(START)]
    step = (TIMES[1] - TIMES[0]) / substeps
    for _ in range(1, len(TIMES)):
        for _ in range(substeps):
            a = change(state, rates)
            b = change(state + step / 2 * a, rates)
            c = change(state + step / 2 * b, rates)
            d = change(state + step * c, rates)
            state = state + step / 6 * (a + 2 * b + 2 * c + d)
        states.append(state)
    return lnb.stack(states)


def sensitivities() -> np.ndarray:
    """The derivatives of the counts by the rates at the last time: ds/dt = df/dx s + df/dp, from SciPy."""
    def combined(t: float, both: np.ndarray) -> np.ndarray:
        (x, y), s = both[:2], both[2:].reshape(2, 4)
        a, b, c, d = RATES
        by_state = np.array([[a - b * y, -b * x], [d * y, d * x - c]])
        by_rates = np.array([[x, -x * y, 0, 0], [0, 0, -y, x * y]])
        return np.concatenate([[a * x - b * x * y, d * x * y - c * y], (by_state @ s + by_rates).ravel()])
    found = solve_ivp(combined, (0, TIMES[-1]), np.concatenate([START, np.zeros(8)]), rtol=1e-10, atol=1e-10)
    return found.y[2:, -1].reshape(2, 4)


through_solver = lnb.jacobian(lambda rates: solve(rates)[-1])(RATES).numpy()
expected = sensitivities()
print(f"hares in the end by the four rates: {np.array2string(through_solver[0], precision=2)}")
print(f"relative difference from the sensitivity equations: {np.abs(through_solver / expected - 1).max():.1e}")

counts = solve(RATES).numpy() * np.random.default_rng(0).lognormal(0, 0.05, (61, 2))


def misfit(rates: Any) -> Tensor:
    return lnb.log(solve(lnb.asarray(rates), 1) / counts).reshape(-1)


fit = least_squares(lambda rates: misfit(rates).numpy(), RATES * [1.2, 0.9, 0.9, 1.1],
                    jac=lambda rates: lnb.jacobian(misfit)(rates).numpy(), x_scale=RATES)
print(f"rates from noisy counts: {np.array2string(fit.x, precision=4)}, true {RATES}")

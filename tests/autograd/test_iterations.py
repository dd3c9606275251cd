"""Rules that iterate until their values stay: transposed and differentiated again they must iterate as far."""

import numpy as np

import lucid_nb as lnb
from lucid_nb.testing import assert_close, check_grad

M, E = 0.8, 0.6


def settled(f, start):
    """The x that f(x) comes to."""
    x = start
    for _ in range(500):
        before, x = x, f(x)
        if float(lnb.abs(x - before).max()) <= 1e-14:
            break
    return x


def kepler(anomaly, x):
    return anomaly + E * lnb.sin(x)


def fixed_point_by_vjp():
    """The anomaly x = M + e sin(x), with its gradient by the implicit function theorem, solved by iteration."""
    solve = lnb.custom_vjp(lambda anomaly: settled(lambda x: kepler(anomaly, x), anomaly))

    def backward(residuals, g):
        anomaly, x = residuals
        by_anomaly, by_x = lnb.vjp(kepler, anomaly, x)[1], lnb.vjp(lambda x: kepler(anomaly, x), x)[1]
        return (by_anomaly(settled(lambda w: g + by_x(w)[0], g))[0],)

    def forward(anomaly):
        x = solve(anomaly)
        return x, (anomaly, x)
    solve.defvjp(forward, backward)
    return solve


def fixed_point_by_jvp():
    """The same, by tangents."""
    solve = lnb.custom_jvp(lambda anomaly: settled(lambda x: kepler(anomaly, x), anomaly))

    @solve.defjvp
    def rule(primals, tangents):
        x = solve(*primals)
        by_x = lnb.linearize(lambda x: kepler(primals[0], x), x)[1]
        return x, settled(lambda t: tangents[0] + by_x(t), tangents[0])
    return solve


def exact():
    """The anomaly, and its first and second derivatives by M."""
    x = M
    for _ in range(50):                        # Newton's method
        x -= (x - M - E * np.sin(x)) / (1 - E * np.cos(x))
    slope = 1 / (1 - E * np.cos(x))
    return x, slope, -E * np.sin(x) * slope ** 3


def check_all_ways(f):
    """Both modes, and both after both."""
    value, slope, bend = exact()
    pushed = lambda f: lambda x: lnb.jvp(f, (x,), (1.0,))[1]
    assert_close(f(lnb.tensor(M)), value, rtol=1e-13)
    for first in (lnb.grad, pushed):
        assert_close(first(f)(M), slope, rtol=1e-12)
        for second in (lnb.grad, pushed):
            assert_close(second(first(f))(M), bend, rtol=1e-11)
    check_grad(f, np.array([0.3, M]))


def test_a_backward_rule_that_iterates_is_pushed_and_differentiated_as_far():
    check_all_ways(fixed_point_by_vjp())


def test_a_forward_rule_that_iterates_is_pulled_and_differentiated_as_far():
    check_all_ways(fixed_point_by_jvp())

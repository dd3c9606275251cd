"""LBFGS. Oracles: BFGS with dense matrices in float64 NumPy, minima that are known, Wolfe's conditions, and torch."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.optim import LBFGS
from lucid_nb.optim.line_search import Point, strong_wolfe

STARTS = [np.array([1.2, -1.0, 0.7]), np.array([[0.3, -0.8], [1.4, 0.1]])]
WOLFE = "strong_wolfe"
OPTIONS = [dict(lr=0.05), dict(lr=0.05, max_iter=3), dict(lr=0.02, max_iter=30, history_size=2),
           dict(line_search_fn=WOLFE), dict(line_search_fn=WOLFE, lr=0.3, max_iter=4),
           dict(line_search_fn=WOLFE, history_size=1, max_eval=7),
           dict(line_search_fn=WOLFE, tolerance_grad=1e-2, tolerance_change=1e-3), dict(line_search_fn=WOLFE, lr=20.0)]


def valley(concatenate, parts):
    """Rosenbrock's function of several variables."""
    x = concatenate([part.reshape(-1) for part in parts])
    return (10 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def walk(concatenate, optimizer, params, steps=4):
    """The points after each step, and the losses that the steps give."""
    def closure():
        optimizer.zero_grad()
        loss = valley(concatenate, params)
        loss.backward()
        return loss
    losses, points = [], []
    for _ in range(steps):
        losses.append(float(optimizer.step(closure).detach()))
        points.append(np.concatenate([p.detach().numpy().ravel() for p in params]))
    return np.array(losses), np.array(points)


def ours(dtype="float64", device="cpu", steps=4, **options):
    """How we walk down the valley."""
    params = [lnb.nn.Parameter(lnb.asarray(start, dtype=dtype, device=device)) for start in STARTS]
    optimizer = LBFGS(params, **options)

    def closure():
        optimizer.zero_grad()
        loss = valley(lnb.concatenate, params)
        loss.backward()
        return loss
    losses = [float(optimizer.step(closure)) for _ in range(steps)]
    return np.array(losses), np.concatenate([p.detach().to_host().ravel() for p in params]), optimizer


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_lbfgs_goes_the_way_of_torch(options):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    params = [torch.tensor(start, requires_grad=True) for start in STARTS]
    theirs = walk(torch.cat, torch.optim.LBFGS(params, **options), params)
    mine = [lnb.nn.Parameter(start) for start in STARTS]
    found = walk(lnb.concatenate, LBFGS(mine, **options), mine)
    assert np.allclose(found[0], theirs[0], rtol=1e-6) and np.allclose(found[1], theirs[1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("device", ["mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)])
def test_lbfgs_goes_the_way_of_the_cpu_on_every_device(device):
    """In float32 beside the CPU in float64, by so few steps that roundings have not grown."""
    if device == "mlx":
        pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
    options = dict(line_search_fn=WOLFE, max_iter=2, steps=1)
    found, wanted = ours("float32", device, **options), ours(**options)
    assert np.allclose(found[0], wanted[0], rtol=1e-5) and np.allclose(found[1], wanted[1], rtol=1e-4, atol=1e-5)


def test_lbfgs_with_line_search_finds_the_minimum():
    losses, point, _ = ours(line_search_fn=WOLFE, max_iter=100, tolerance_change=1e-14)
    assert np.allclose(point, 1, atol=1e-6) and losses[-1] < 1e-12


def test_lbfgs_steps_as_bfgs_with_dense_matrices():
    """Oracle: the inverse Hessian by the recursion of Nocedal and Wright (7.16), from the scaled identity each time."""
    scale, lr, p = np.array([1.0, 4.0, 0.3, 2.0]), 0.4, np.array([1.0, -2.0, 3.0, 0.5])
    x = lnb.nn.Parameter(p)
    optimizer = LBFGS([x], lr=lr, max_iter=1)

    def closure():
        optimizer.zero_grad()
        loss = (0.5 * lnb.asarray(scale) * x ** 2 + 0.1 * x ** 4).sum()
        loss.backward()
        return loss
    pairs, before = [], None
    for step in range(6):
        g = scale * p + 0.4 * p ** 3
        if before is not None:
            pairs.append((g - before[1], p - before[0]))
        inverse = np.eye(4) if not pairs else np.eye(4) * (pairs[-1][0] @ pairs[-1][1]) / (pairs[-1][0] @ pairs[-1][0])
        for y, s in pairs:
            turn = np.eye(4) - np.outer(s, y) / (y @ s)
            inverse = turn @ inverse @ turn.T + np.outer(s, s) / (y @ s)
        before, p = (p, g), p - (lr if step else lr * min(1, 1 / abs(g).sum())) * inverse @ g
        optimizer.step(closure)
        assert np.allclose(x.detach().numpy(), p, rtol=1e-9), step


@pytest.mark.parametrize(("value", "slope", "first"), [
    (lambda t: (t - 2) ** 2, lambda t: 2 * (t - 2), 1.0), (lambda t: (t - 2) ** 2, lambda t: 2 * (t - 2), 1e-3),
    (lambda t: (t - 2) ** 2, lambda t: 2 * (t - 2), 50.0),
    (lambda t: -t / (t * t + 2), lambda t: (t * t - 2) / (t * t + 2) ** 2, 10.0),
    (lambda t: (t + 0.004) ** 5 - 2 * (t + 0.004) ** 4, lambda t: 5 * (t + 0.004) ** 4 - 8 * (t + 0.004) ** 3, 0.1),
], ids=["near", "short", "long", "More-Thuente-1", "More-Thuente-2"])
def test_line_search_fulfils_the_conditions_of_wolfe(value, slope, first):
    """The last two functions: J. More, D. Thuente, Line search algorithms with guaranteed sufficient decrease, 1994."""
    points = []

    def evaluate(t):
        points.append(Point(t, value(t), slope(t), None))
        return points[-1]
    start = Point(0.0, value(0.0), slope(0.0), None)
    found, calls = strong_wolfe(evaluate, start, first, 1e-9, 25)
    assert calls == len(points)
    assert found.value <= start.value + 1e-4 * found.place * start.slope
    assert abs(found.slope) <= -0.9 * start.slope


def test_line_search_that_may_not_try_further_gives_the_better_end():
    def evaluate(t):
        return Point(t, (t - 2) ** 2, 2 * (t - 2), None)
    found, calls = strong_wolfe(evaluate, evaluate(0.0), 9.0, 1e-9, 0)
    assert calls == 1 and found.place == 0.0


def test_lbfgs_resumes_from_its_state():
    """Oracle: the same run without the interruption."""
    whole = ours(steps=3, line_search_fn=WOLFE, max_iter=4)[1]
    _, _, first = ours(steps=2, line_search_fn=WOLFE, max_iter=4)
    params = [lnb.nn.Parameter(p.detach().numpy()) for p in first.param_groups[0]["params"]]
    second = LBFGS(params)
    second.load_state_dict(first.state_dict())
    walk(lnb.concatenate, second, params, steps=1)
    assert np.array_equal(np.concatenate([p.detach().numpy().ravel() for p in params]), whole)


def test_lbfgs_of_parameters_without_gradient_leaves_them():
    used, idle = lnb.nn.Parameter([3.0]), lnb.nn.Parameter([1.0, 2.0])
    optimizer = LBFGS([idle, used], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (used * used).sum()
        loss.backward()
        return loss
    assert optimizer.step(closure).item() == 9 and idle.tolist() == [1, 2] and abs(used.item()) < 3


def test_lbfgs_puts_parameters_back_where_a_closure_fails():
    p = lnb.nn.Parameter([3.0, -1.0])
    optimizer, calls = LBFGS([p], line_search_fn=WOLFE), []

    def closure():
        calls.append(1)
        if len(calls) == 2:
            raise ArithmeticError("on purpose")
        optimizer.zero_grad()
        loss = (p ** 4).sum()
        loss.backward()
        return loss
    with pytest.raises(ArithmeticError):
        optimizer.step(closure)
    assert p.tolist() == [3.0, -1.0]


@pytest.mark.parametrize(("options", "text"), [
    (dict(lr=-1), "lr is -1"), (dict(max_iter=0), "max_iter is 0"), (dict(history_size=0), "history_size is 0"),
    (dict(line_search_fn="armijo"), "line_search_fn is 'armijo'"), (dict(tolerance_grad=-1), "tolerance_grad is -1")],
    ids=["lr", "max_iter", "history_size", "line_search_fn", "tolerance_grad"])
def test_lbfgs_refuses_settings_out_of_range(options, text):
    with pytest.raises(lnb.ConfigError, match=f"LBFGS: {text}. Use"):
        LBFGS([lnb.nn.Parameter([1.0])], **options)


def test_lbfgs_refuses_groups_calls_without_closure_and_foreign_states():
    p, q = lnb.nn.Parameter([1.0]), lnb.nn.Parameter([2.0])
    with pytest.raises(lnb.ConfigError, match="LBFGS: there are several groups"):
        LBFGS([{"params": [p]}, {"params": [q]}])
    optimizer = LBFGS([p])
    with pytest.raises(lnb.ConfigError, match=r"LBFGS.step: the closure is missing"):
        optimizer.step()
    for state in ({"d": np.ones(2)}, {"old_dirs": [np.ones(3)]}, {"exp_avg": np.ones(1)}):
        with pytest.raises(lnb.errors.StateError, match="load_state_dict: the state"):
            optimizer.load_state_dict({**optimizer.state_dict(), "state": {0: state}})
    assert not optimizer.state

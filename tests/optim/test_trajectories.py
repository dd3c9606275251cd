"""Every option of every optimizer over twelve steps. Oracles: the papers' rules in float64 NumPy, and torch."""

import inspect

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import optim

from . import formulas
from .cases import CASES, IDS, OPTIONS, RULES, STARTS, STEPS, gradient

FIRST = [(name, choices[0]) for name, choices in OPTIONS.items()]
DRAWN = [[np.random.default_rng([step, k]).normal(size=start.shape) for k, start in enumerate(STARTS)]
         for step in range(STEPS)]
DEVICES = ["cpu", "mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)]
STEEP = [(name, {key: value for key, value in choices[-1].items() if key != "maximize"})
         for name, choices in OPTIONS.items()]


def walk(name, options, dtype="float64", device="cpu", drawn=None, steps=STEPS):
    """The points that an optimizer of ours visits; gradients are the valley's, or drawn ones."""
    params = [lnb.nn.Parameter(lnb.asarray(start, dtype=dtype, device=device)) for start in STARTS]
    optimizer, visited = getattr(optim, name)(params, **options), []
    for step in range(steps):
        for k, p in enumerate(params):
            g = gradient(p.detach().to_host()) if drawn is None else drawn[step][k]
            p.grad = lnb.asarray(g, dtype=dtype, device=device)
        optimizer.step()
        visited.append([np.array(p.detach().to_host()) for p in params])
    return visited


def torch_walk(name, options, dtype="float64", drawn=None):
    """The same of torch's."""
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    params = [torch.tensor(start, dtype=getattr(torch, dtype), requires_grad=True) for start in STARTS]
    optimizer, visited = getattr(torch.optim, name)(params, **options), []
    for step in range(STEPS):
        for k, p in enumerate(params):
            g = gradient(p.detach().numpy()) if drawn is None else drawn[step][k]
            p.grad = torch.tensor(g, dtype=p.dtype)
        optimizer.step()
        visited.append([p.detach().numpy().copy() for p in params])
    return visited


def assert_same_way(ours, theirs, tolerance):
    for step, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        for one, two in zip(mine, other, strict=True):
            np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance, err_msg=f"after step {step + 1}")


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_optimizer_follows_the_rule_of_its_paper(name, options):
    wanted = zip(*[formulas.run(RULES[name], start, gradient, STEPS, **options) for start in STARTS])
    assert_same_way(walk(name, options), wanted, 1e-10)


@pytest.mark.parametrize(("name", "options"), [case for case in CASES if case[0] != "Lion"],
                         ids=[name for name in IDS if not name.startswith("Lion")])
def test_optimizer_goes_the_way_of_torch(name, options):
    """To 1e-6: torch keeps the scalars of NAdam and ASGD in float32."""
    assert_same_way(walk(name, options), torch_walk(name, options), 1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("name", "options"), STEEP, ids=[name for name, _ in STEEP])
def test_optimizer_in_float32_stays_near_the_rule_on_every_device(name, options, device):
    """Gradients are drawn, so that no rounding is amplified by the valley. Twelve steps of a few roundings each; steps
    of Adafactor and of a centred RMSprop divide by differences, which lose some bits more.
    """
    if device == "mlx":
        pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
    steps = 3 if device == "cuda" else STEPS          # the simulator is slow
    wanted = zip(*[formulas.run(RULES[name], start, lambda p, step, k=k: DRAWN[step][k], steps, **options)
                   for k, start in enumerate(STARTS)])
    assert_same_way(walk(name, options, "float32", device, DRAWN, steps), wanted, 2e-5)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "Lion"])
def test_defaults_and_keywords_are_those_of_torch(name):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = (inspect.signature(getattr(place, name).__init__).parameters for place in (optim, torch.optim))
    assert list(ours) == list(theirs)
    for key, parameter in theirs.items():
        ignored = key in ("capturable", "foreach", "fused")
        assert ours[key].kind == parameter.kind and (ignored or ours[key].default == parameter.default), key


def test_asgd_averages_from_t0_on():
    """Oracle: the mean of the points, of which step t0 + 2 is the first, by its definition."""
    p = lnb.nn.Parameter(STARTS[0])
    optimizer, visited = optim.ASGD([p], lr=0.1, t0=4), []
    for _ in range(STEPS):
        p.grad = lnb.asarray(gradient(p.detach().numpy()))
        optimizer.step()
        visited.append(p.detach().numpy().copy())
        wanted = visited[-1] if len(visited) <= 6 else np.mean(visited[5:], axis=0)
        assert np.allclose(optimizer.state[p]["ax"].numpy(), wanted, rtol=1e-12), len(visited)


@pytest.mark.parametrize(("name", "options"), STEEP, ids=[name for name, _ in STEEP])
def test_complex_parameters_step_as_pairs_of_real_ones(name, options):
    """Oracle: the same optimizer on the real and the imaginary parts."""
    if name == "Adafactor":
        with pytest.raises(lnb.ConfigError, match=r"Adafactor: params is .* Use real parameters"):
            optim.Adafactor([lnb.nn.Parameter(np.ones(2, complex))])
        return
    pair = [lnb.nn.Parameter(STARTS[0]), lnb.nn.Parameter(STARTS[0][::-1].copy())]
    whole = lnb.nn.Parameter(STARTS[0] + 1j * STARTS[0][::-1])
    both = [getattr(optim, name)(params, **options) for params in (pair, [whole])]
    for step in range(3):
        drawn = [np.random.default_rng([step, k]).normal(size=STARTS[0].shape) for k in (1, 2)]
        for p, g in zip((*pair, whole), (*drawn, drawn[0] + 1j * drawn[1])):
            p.grad = lnb.asarray(g)
        for optimizer in both:
            optimizer.step()
    found = whole.detach().numpy()
    assert np.allclose(found.real, pair[0].detach().numpy(), rtol=1e-13)
    assert np.allclose(found.imag, pair[1].detach().numpy(), rtol=1e-13)

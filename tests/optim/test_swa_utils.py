"""Averages of weights. Oracles: the means in float64 NumPy, statistics of all data at once, and torch."""

import inspect

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.optim import swa_utils

RNG = np.random.default_rng(11)
SHAPES = {"0.weight": (3, 2), "0.bias": (3,), "1.weight": (3,), "1.bias": (3,), "1.running_mean": (3,),
          "1.running_var": (3,)}
WALK = [{name: RNG.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}
        | {"1.num_batches_tracked": np.array(3 * step)} for step in range(5)]


def network(library=lnb):
    """A linear layer and a batch normalisation."""
    return library.nn.Sequential(library.nn.Linear(2, 3), library.nn.BatchNorm1d(3))


def averaged(device="cpu", **options):
    """What our average is after the walk."""
    model = network().to(device)
    average = swa_utils.AveragedModel(model, **options)
    for state in WALK:
        model.load_state_dict(state)
        average.update_parameters(model)
    return average


def weighted(shares):
    """Sums of the walk's states with these weights."""
    return {name: sum(share * state[name].astype(float) for share, state in zip(shares, WALK)) for name in SHAPES}


EMA = [0.7 ** 4, *[0.3 * 0.7 ** (3 - k) for k in range(4)]]
CHOICES = {
    "mean": (dict(), [0.2] * 5), "avg_fn": (dict(avg_fn=swa_utils.get_swa_avg_fn()), [0.2] * 5),
    "swa": (dict(multi_avg_fn=swa_utils.get_swa_multi_avg_fn()), [0.2] * 5),
    "ema": (dict(multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.7)), EMA),
    "ema_one": (dict(avg_fn=swa_utils.get_ema_avg_fn(0.7)), EMA),
}


@pytest.mark.parametrize("device", ["cpu", "mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)])
@pytest.mark.parametrize("name", list(CHOICES))
def test_averaged_model_holds_the_weighted_mean(name, device):
    if device == "mlx":
        pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
    options, shares = CHOICES[name]
    for uses_buffers in (False, True):
        average = averaged(device, use_buffers=uses_buffers, **options)
        for key, wanted in weighted(shares).items():
            if "running" in key and not uses_buffers:
                wanted = WALK[-1][key]
            found = average.state_dict()[f"module.{key}"].to_host()
            assert found.dtype == np.float32 and np.allclose(found, wanted, rtol=1e-5, atol=1e-6), key
        assert int(average.n_averaged) == 5


@pytest.mark.parametrize("name", list(CHOICES))
def test_averaged_model_equals_that_of_torch(name):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    theirs = {"mean": {}, "avg_fn": dict(avg_fn=torch.optim.swa_utils.get_swa_avg_fn()),
              "swa": dict(multi_avg_fn=torch.optim.swa_utils.get_swa_multi_avg_fn()),
              "ema": dict(multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.7)),
              "ema_one": dict(avg_fn=torch.optim.swa_utils.get_ema_avg_fn(0.7))}[name]
    model = network(torch)
    other = torch.optim.swa_utils.AveragedModel(model, **theirs)
    for state in WALK:
        model.load_state_dict({key: torch.tensor(value) for key, value in state.items()})
        other.update_parameters(model)
    found = averaged(**CHOICES[name][0]).state_dict()
    assert set(found) == set(other.state_dict())
    for key, wanted in other.state_dict().items():
        assert np.allclose(found[key].numpy(), wanted.numpy(), rtol=1e-6, atol=1e-6), key


def test_averaged_model_is_a_model_of_its_own():
    model = network()
    average = swa_utils.AveragedModel(model)
    average.update_parameters(model)
    x = lnb.asarray(RNG.normal(size=(4, 2)).astype(np.float32))
    assert np.array_equal(average.eval()(x).numpy(), model.eval()(x).numpy())
    lnb.nn.init.zeros_(model[0].weight)
    assert average.module[0].weight.detach().numpy().any()


def test_averaged_model_refuses_other_models_and_two_functions():
    average = swa_utils.AveragedModel(network())
    with pytest.raises(lnb.ShapeError, match=r"AveragedModel: parameters and buffers differ, \(3, 2\) and \(3, 4\)"):
        average.update_parameters(lnb.nn.Sequential(lnb.nn.Linear(4, 3), lnb.nn.BatchNorm1d(3)))
    with pytest.raises(lnb.ShapeError, match="AveragedModel: parameters and buffers differ, 7 and 2"):
        average.update_parameters(lnb.nn.Linear(2, 3))
    with pytest.raises(lnb.ConfigError, match="AveragedModel: avg_fn and multi_avg_fn"):
        swa_utils.AveragedModel(network(), avg_fn=abs, multi_avg_fn=abs)
    with pytest.raises(lnb.ConfigError, match=r"decay is 1.5"):
        swa_utils.get_ema_multi_avg_fn(1.5)
    assert int(average.n_averaged) == 0


def test_update_bn_takes_the_statistics_of_all_data():
    """Oracle: the mean of the batches' means and unbiased variances, in NumPy; modes and momenta end as they were."""
    model = network().eval()
    batches = [RNG.normal(size=(4, 2)).astype(np.float32) for _ in range(3)]
    swa_utils.update_bn([(lnb.asarray(batch), "a label") for batch in batches], model)
    weight, bias = model[0].weight.detach().numpy(), model[0].bias.detach().numpy()
    hidden = [batch @ weight.T + bias for batch in batches]
    assert np.allclose(model[1].running_mean.numpy(), np.mean([h.mean(0) for h in hidden], axis=0), atol=1e-6)
    assert np.allclose(model[1].running_var.numpy(), np.mean([h.var(0, ddof=1) for h in hidden], axis=0), atol=1e-6)
    assert not model.training and not model[1].training and model[1].momentum == 0.1
    assert int(model[1].num_batches_tracked) == 3


def test_update_bn_ends_as_it_was_where_a_batch_fails():
    model = network()
    model[1].eval()
    with pytest.raises(lnb.ShapeError):
        swa_utils.update_bn([lnb.ones((2, 5), dtype="float32")], model)
    assert model.training and not model[1].training and model[1].momentum == 0.1


def followed(library, options):
    """The rates of two groups over some epochs, the first three under another schedule."""
    params = [library.ones(2, requires_grad=True) for _ in range(2)]
    optimizer = library.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.2}], lr=1.0)
    before, found = library.optim.lr_scheduler.ExponentialLR(optimizer, 0.9), []
    schedule = library.optim.swa_utils.SWALR(optimizer, **options)
    for epoch in range(10):
        optimizer.step()
        (before if epoch < 3 else schedule).step()
        found.append([group["lr"] for group in optimizer.param_groups])
    return found


SWALRS = [dict(swa_lr=0.05), dict(swa_lr=0.05, anneal_epochs=4), dict(swa_lr=[0.5, 0.1], anneal_strategy="linear"),
          dict(swa_lr=0.05, anneal_epochs=0), dict(swa_lr=0.5, anneal_epochs=3, anneal_strategy="linear")]


@pytest.mark.parametrize("options", SWALRS, ids=str)
def test_swalr_steps_as_that_of_torch(options):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    assert np.allclose(followed(lnb, options), followed(torch, options), rtol=1e-12)


def test_swalr_goes_along_half_a_cosine_and_stays():
    """Oracle: the formula."""
    optimizer, found = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=1.0), []
    schedule = swa_utils.SWALR(optimizer, 0.2, anneal_epochs=4)
    for _ in range(6):
        optimizer.step()
        schedule.step()
        found += schedule.get_last_lr()
    wanted = [0.2 + 0.8 * (1 + np.cos(np.pi * min(k, 4) / 4)) / 2 for k in range(1, 7)]
    assert np.allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(("options", "text"), [
    (dict(swa_lr=-1), "swa_lr is -1"), (dict(swa_lr=[1, 2, 3]), "swa_lr has 3 values for 1 groups"),
    (dict(swa_lr=1, anneal_strategy="exp"), "anneal_strategy is 'exp'"),
    (dict(swa_lr=1, anneal_epochs=-1), "anneal_epochs is -1")], ids=["rate", "rates", "strategy", "epochs"])
def test_swalr_names_what_is_out_of_range(options, text):
    optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])])
    with pytest.raises(lnb.ConfigError, match=f"SWALR: {text}"):
        swa_utils.SWALR(optimizer, **options)
    assert "swa_lr" not in optimizer.param_groups[0]


def test_keywords_and_names_are_those_of_torch():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    for name in torch.optim.swa_utils.__all__:
        ours, theirs = (inspect.signature(getattr(place, name)).parameters
                        for place in (swa_utils, torch.optim.swa_utils))
        assert [(key, value.default) for key, value in ours.items()] == \
            [(key, value.default) for key, value in theirs.items()], name

"""Schedules. Oracles: torch, epoch for epoch, with every option; closed formulas and documented values without it."""

import copy
import inspect
import math
import pickle

import pytest

import lucid_nb as lnb
from lucid_nb.optim import lr_scheduler

EPOCHS = 25
CASES = [
    ("StepLR", dict(step_size=3)), ("StepLR", dict(step_size=4, gamma=0.5)),
    ("MultiStepLR", dict(milestones=[3, 7, 7, 12])), ("MultiStepLR", dict(milestones=[2], gamma=0.3)),
    ("ConstantLR", dict()), ("ConstantLR", dict(factor=0.2, total_iters=9)),
    ("LinearLR", dict()), ("LinearLR", dict(start_factor=0.9, end_factor=0.1, total_iters=8)),
    ("ExponentialLR", dict(gamma=0.7)), ("PolynomialLR", dict()), ("PolynomialLR", dict(total_iters=12, power=2.5)),
    ("CosineAnnealingLR", dict(T_max=6)), ("CosineAnnealingLR", dict(T_max=9, eta_min=0.02)),
    ("CosineAnnealingWarmRestarts", dict(T_0=4)), ("CosineAnnealingWarmRestarts", dict(T_0=3, T_mult=2, eta_min=0.01)),
    ("CyclicLR", dict(base_lr=0.1, max_lr=0.7, step_size_up=4)),
    ("CyclicLR", dict(base_lr=0.1, max_lr=[0.7, 0.3], step_size_up=2, step_size_down=5, mode="triangular2")),
    ("CyclicLR", dict(base_lr=0.1, max_lr=0.7, step_size_up=3, mode="exp_range", gamma=0.9, base_momentum=0.6)),
    ("CyclicLR", dict(base_lr=0.1, max_lr=0.7, step_size_up=3, cycle_momentum=False)),
    ("OneCycleLR", dict(max_lr=0.8, total_steps=26)),
    ("OneCycleLR", dict(max_lr=[0.8, 0.2], epochs=5, steps_per_epoch=6, anneal_strategy="linear", pct_start=0.4)),
    ("OneCycleLR", dict(max_lr=0.8, total_steps=30, three_phase=True, div_factor=5.0, final_div_factor=10.0)),
    ("OneCycleLR", dict(max_lr=0.8, total_steps=26, cycle_momentum=False)),
    ("OneCycleLR", dict(max_lr=0.8, total_steps=26, base_momentum=0.5, max_momentum=0.7)),
]
IDS = [f"{name}-{','.join(f'{key}={value}' for key, value in options.items())}" for name, options in CASES]


def scaled(cycle):
    """A scale that the user gives."""
    return 1 / (1 + cycle)


def halved(epoch):
    """A factor that the user gives."""
    return 0.5 ** epoch


class Factor:
    """A factor with a memory."""

    def __init__(self, base):
        self.base = base

    def __call__(self, epoch):
        return self.base ** epoch


# Those whose options are functions or schedules.
MADE = {
    "LambdaLR": lambda place, optimizer: place.LambdaLR(optimizer, halved),
    "LambdaLR-two": lambda place, optimizer: place.LambdaLR(optimizer, [halved, Factor(0.9)]),
    "MultiplicativeLR": lambda place, optimizer: place.MultiplicativeLR(optimizer, lambda epoch: 1 - epoch / 50),
    "CyclicLR-scale": lambda place, optimizer: place.CyclicLR(
        optimizer, 0.1, 0.7, 3, scale_fn=scaled, scale_mode="iterations"),
    "ChainedScheduler": lambda place, optimizer: place.ChainedScheduler(
        [place.ConstantLR(optimizer, 0.1, 4), place.CosineAnnealingLR(optimizer, 9), place.StepLR(optimizer, 5)]),
    "SequentialLR": lambda place, optimizer: place.SequentialLR(
        optimizer, [place.LinearLR(optimizer, 0.1, total_iters=4), place.CosineAnnealingLR(optimizer, 8),
                    place.ExponentialLR(optimizer, 0.8)], [5, 13]),
    "SequentialLR-restarts": lambda place, optimizer: place.SequentialLR(
        optimizer, [place.ConstantLR(optimizer, 0.1, 40), place.CosineAnnealingWarmRestarts(optimizer, 3, 2)], [4]),
}
MADE |= {name: lambda place, optimizer, kind=kind, options=options: getattr(place, kind)(optimizer, **options)
         for name, (kind, options) in zip(IDS, CASES)}


def optimizer_of(library, kind="SGD"):
    """An optimizer of two groups, of ours or of torch's."""
    parameter = [library.ones(2, requires_grad=True) for _ in range(2)]
    settings = dict(momentum=0.9) if kind == "SGD" else {}
    return getattr(library.optim, kind)([{"params": [parameter[0]]}, {"params": [parameter[1]], "lr": 0.2}], lr=0.5,
                                        **settings)


def followed(schedule, optimizer, epochs=EPOCHS):
    """Rates, and momenta, of all groups at each epoch, and what get_last_lr says."""
    found = []
    for _ in range(epochs):
        found.append([(group["lr"], group.get("momentum", group.get("betas"))) for group in optimizer.param_groups])
        assert schedule.get_last_lr() == [group["lr"] for group in optimizer.param_groups]
        optimizer.step()
        schedule.step()
    return found


def assert_same(found, wanted):
    for epoch, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
        for mine, other in zip(ours, theirs, strict=True):
            assert mine[0] == pytest.approx(other[0], rel=1e-12, abs=1e-15), f"epoch {epoch}"
            assert mine[1] == pytest.approx(other[1], rel=1e-12), f"epoch {epoch}"


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", list(MADE))
def test_schedule_steps_as_that_of_torch(name, kind):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = optimizer_of(lnb, kind), optimizer_of(torch, kind)
    found = followed(MADE[name](lr_scheduler, ours), ours)
    assert_same(found, followed(MADE[name](torch.optim.lr_scheduler, theirs), theirs))


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_keywords_and_defaults_are_those_of_torch(name):
    """`verbose`, which lucid has and torch had, comes last."""
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = (inspect.signature(getattr(place, name).__init__).parameters
                    for place in (lr_scheduler, torch.optim.lr_scheduler))
    assert [key for key in ours if key != "verbose"] == list(theirs)
    assert all(ours[key].default == parameter.default for key, parameter in theirs.items())


@pytest.mark.filterwarnings("ignore:.*epoch was given:UserWarning", "ignore:The epoch parameter:UserWarning")
@pytest.mark.parametrize("name", IDS)
def test_step_with_an_epoch_goes_there_as_that_of_torch(name):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    pairs = [(optimizer, MADE[name](place, optimizer)) for optimizer, place in (
        (optimizer_of(lnb), lr_scheduler), (optimizer_of(torch), torch.optim.lr_scheduler))]
    for epoch in (None, 7, 3, None, 11):
        rates = []
        for optimizer, schedule in pairs:
            optimizer.step()
            schedule.step() if epoch is None else schedule.step(epoch)
            rates.append(schedule.get_last_lr())
        assert rates[0] == pytest.approx(rates[1], rel=1e-12)


def test_step_with_an_epoch_warns():
    optimizer = optimizer_of(lnb)
    schedule = lr_scheduler.StepLR(optimizer, 2)
    optimizer.step()
    with pytest.warns(UserWarning, match=r"StepLR\.step: an epoch was given"):
        schedule.step(3)


FORMULAS = {
    "StepLR": (dict(step_size=3, gamma=0.5), lambda e: 0.5 ** (e // 3)),
    "MultiStepLR": (dict(milestones=[3, 7, 7], gamma=0.5), lambda e: 0.5 ** ((e >= 3) + 2 * (e >= 7))),
    "ConstantLR": (dict(factor=0.25, total_iters=4), lambda e: 0.25 if e < 4 else 1),
    "LinearLR": (dict(start_factor=0.25, total_iters=6), lambda e: 0.25 + 0.75 * min(e, 6) / 6),
    "ExponentialLR": (dict(gamma=0.8), lambda e: 0.8 ** e),
    "PolynomialLR": (dict(total_iters=10, power=2), lambda e: (1 - min(e, 10) / 10) ** 2),
    "CosineAnnealingLR": (dict(T_max=7), lambda e: (1 + math.cos(math.pi * e / 7)) / 2),
    "CosineAnnealingWarmRestarts": (dict(T_0=5), lambda e: (1 + math.cos(math.pi * (e % 5) / 5)) / 2),
    "LambdaLR": (dict(lr_lambda=halved), lambda e: 0.5 ** e),
    "MultiplicativeLR": (dict(lr_lambda=lambda e: 1 + 1 / e), lambda e: e + 1),     # 2 * 3/2 * 4/3 ... telescopes
    "NoamScheduler": (dict(model_size=16, warmup_steps=6), lambda e: 0.25 * min((e + 1) ** -0.5, (e + 1) * 6 ** -1.5)),
    "CyclicLR": (dict(base_lr=0.0, max_lr=1.0, step_size_up=2, step_size_down=4),
                 lambda e: [0, 0.5, 1, 0.75, 0.5, 0.25][e % 6]),
    "OneCycleLR": (dict(max_lr=1.0, total_steps=EPOCHS + 1, anneal_strategy="linear", pct_start=6 / 26, div_factor=2.0,
                        final_div_factor=5.0), lambda e: 0.5 + e / 10 if e <= 5 else 1 - (e - 5) / 20 * 0.9),
}


@pytest.mark.parametrize("name", list(FORMULAS))
def test_schedule_follows_its_formula(name):
    options, formula = FORMULAS[name]
    optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=1.0, momentum=0.5)
    schedule = getattr(lr_scheduler, name)(optimizer, **options)
    found = [group[0][0] for group in followed(schedule, optimizer)]
    assert found == pytest.approx([formula(epoch) for epoch in range(EPOCHS)], rel=1e-12, abs=1e-15)


def test_cyclic_momentum_mirrors_the_rate_when_up_and_down_differ():
    """lucid's asymmetric cycle is wrong, and its momentum stays. Oracle: straight lines between the corners."""
    optimizer = lnb.optim.Adam([lnb.nn.Parameter([1.0])])
    schedule = lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=2, step_size_down=4, base_momentum=0.5,
                                     max_momentum=0.9)
    found = [(group[0][0], group[0][1]) for group in followed(schedule, optimizer, 7)]
    assert [rate for rate, _ in found] == pytest.approx([0, 0.5, 1, 0.75, 0.5, 0.25, 0])
    assert [betas[0] for _, betas in found] == pytest.approx([0.9, 0.7, 0.5, 0.6, 0.7, 0.8, 0.9])
    assert all(betas[1] == 0.999 for _, betas in found)


LOSSES = [3.0, 2.0, 2.0, 1.9999, 2.5, 1.0, 1.0, float("nan"), 1.1, 1.2, 0.5, 0.9, 0.9, 0.9, 0.9, 0.9]


@pytest.mark.parametrize("options", [
    dict(), dict(patience=1), dict(patience=0, cooldown=3), dict(patience=1, mode="max", factor=0.5),
    dict(patience=1, threshold=0.3, threshold_mode="abs"), dict(patience=0, mode="max", threshold_mode="abs"),
    dict(patience=0, min_lr=[0.1, 0.01]), dict(patience=0, eps=0.1), dict(patience=0, threshold=0.2)], ids=str)
def test_plateau_steps_as_that_of_torch(options):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = optimizer_of(lnb), optimizer_of(torch)
    pairs = (ours, lr_scheduler.ReduceLROnPlateau(ours, **options)), \
        (theirs, torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **options))
    for loss in LOSSES:
        for _, schedule in pairs:
            schedule.step(loss)
        assert pairs[0][1].get_last_lr() == pytest.approx(pairs[1][1].get_last_lr(), rel=1e-12)
    shared = pairs[0][1].state_dict().keys() & pairs[1][1].state_dict().keys()
    assert {"best", "num_bad_epochs", "cooldown_counter", "last_epoch"} <= shared
    assert {key: pairs[0][1].state_dict()[key] for key in shared - {"_last_lr"}} == \
        {key: pairs[1][1].state_dict()[key] for key in shared - {"_last_lr"}}


def test_plateau_reduces_when_patience_ends_and_waits_in_cooldown():
    """Oracle: counted by hand. The value may be a tensor that requires a gradient."""
    optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=1.0)
    schedule = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2, cooldown=1, min_lr=0.3)
    found = []
    for loss in (5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 4.0):
        schedule.step(lnb.tensor(loss, requires_grad=True))
        found.append(optimizer.param_groups[0]["lr"])
    assert found == [1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.3, 0.3] and schedule.best == 4


@pytest.mark.parametrize("name", list(MADE))
def test_schedule_resumes_from_its_state(name):
    """Oracle: the same run without the interruption. Optimizer and schedule are saved, made anew, and loaded."""
    whole = optimizer_of(lnb)
    wanted = followed(MADE[name](lr_scheduler, whole), whole, 20)[8:]
    first = optimizer_of(lnb)
    schedule = MADE[name](lr_scheduler, first)
    followed(schedule, first, 8)
    saved = pickle.loads(pickle.dumps((first.state_dict(), schedule.state_dict())))
    second = optimizer_of(lnb)
    resumed = MADE[name](lr_scheduler, second)
    second.load_state_dict(saved[0])
    resumed.load_state_dict(saved[1])
    assert_same(followed(resumed, second, 12), wanted)


@pytest.mark.parametrize("name", list(MADE))
def test_states_of_torch_are_read(name):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = optimizer_of(lnb), optimizer_of(torch)
    mine, other = MADE[name](lr_scheduler, ours), MADE[name](torch.optim.lr_scheduler, theirs)
    followed(other, theirs, 8)
    saved = theirs.state_dict()
    saved["state"] = {}
    ours.load_state_dict(saved)
    mine.load_state_dict(other.state_dict())
    assert_same(followed(mine, ours, 12), followed(other, theirs, 12))


@pytest.mark.parametrize("name", [name for name in IDS if not name.startswith(("CyclicLR", "OneCycleLR"))])
def test_last_epoch_resumes_as_that_of_torch(name):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    kind, options = CASES[IDS.index(name)]
    found = []
    for library, place in ((lnb, lr_scheduler), (torch, torch.optim.lr_scheduler)):
        optimizer = optimizer_of(library)
        for group in optimizer.param_groups:
            group["initial_lr"] = 2 * group["lr"]
        found.append(followed(getattr(place, kind)(optimizer, **options, last_epoch=3), optimizer, 8))
    assert_same(*found)


def test_callables_keep_their_attributes_in_the_state_and_functions_do_not():
    optimizer = optimizer_of(lnb)
    schedule = lr_scheduler.LambdaLR(optimizer, [Factor(0.5), halved])
    state = schedule.state_dict()
    assert state["lr_lambdas"] == [{"base": 0.5}, None]
    other = lr_scheduler.LambdaLR(optimizer, [Factor(0.1), halved])
    other.load_state_dict(state)
    assert other.lr_lambdas[0].base == 0.5


def test_schedules_and_their_optimizer_are_copied_together():
    optimizer = optimizer_of(lnb)
    schedule = lr_scheduler.CosineAnnealingLR(optimizer, 8)
    followed(schedule, optimizer, 3)
    for copied in (pickle.loads(pickle.dumps((schedule, optimizer))), copy.deepcopy((schedule, optimizer))):
        assert copied[0].optimizer is copied[1]
        assert followed(*copied, 4) == followed(*copy.deepcopy((schedule, optimizer)), 4)


def test_lucid_s_order_of_arguments_last_lr_and_verbose_are_there(capsys):
    optimizer = optimizer_of(lnb)
    schedule = lr_scheduler.LambdaLR(halved, optimizer, verbose=True)
    assert schedule.last_lr == [0.5, 0.2]
    assert capsys.readouterr().out == "LambdaLR: epoch 0, learning rates [0.5, 0.2]\n"


def test_step_before_the_optimizer_s_warns_once():
    optimizer = optimizer_of(lnb)
    schedule = lr_scheduler.StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match=r"StepLR\.step: the optimizer has not stepped yet"):
        schedule.step()
    schedule.step()


def test_group_added_later_must_have_a_schedule_of_its_own():
    optimizer = optimizer_of(lnb)
    schedule = lr_scheduler.StepLR(optimizer, 2)
    optimizer.add_param_group({"params": [lnb.nn.Parameter([1.0])]})
    optimizer.step()
    with pytest.raises(ValueError, match="zip"):
        schedule.step()
    assert schedule.last_epoch == 0


WRONG = [
    ("StepLR", dict(step_size=0), "step_size is 0"), ("StepLR", dict(step_size="a"), "step_size is 'a'"),
    ("MultiStepLR", dict(milestones=3), "milestones is 3"), ("ExponentialLR", dict(gamma=-1), "gamma is -1"),
    ("ConstantLR", dict(factor=2), "factor is 2"), ("LinearLR", dict(start_factor=0), "start_factor is 0"),
    ("LinearLR", dict(end_factor=2), "end_factor is 2"), ("PolynomialLR", dict(total_iters=0), "total_iters is 0"),
    ("CosineAnnealingLR", dict(T_max=0), "T_max is 0"), ("CosineAnnealingWarmRestarts", dict(T_0=1.5), "T_0 is 1.5"),
    ("CosineAnnealingWarmRestarts", dict(T_0=1, T_mult=0), "T_mult is 0"),
    ("CyclicLR", dict(base_lr=0.1, max_lr=1, mode="square"), "mode is 'square'"),
    ("CyclicLR", dict(base_lr=[0.1], max_lr=1), "base_lr has 1 values for 2 groups"),
    ("CyclicLR", dict(base_lr=0.1, max_lr=1, max_momentum=1.5), "max_momentum is 1.5"),
    ("OneCycleLR", dict(max_lr=1), "the number of steps is missing"), ("LambdaLR", dict(lr_lambda=3), "lr_lambda is 3"),
    ("OneCycleLR", dict(max_lr=1, total_steps=5, pct_start=2), "pct_start is 2"),
    ("OneCycleLR", dict(max_lr=1, total_steps=5, anneal_strategy="exp"), "anneal_strategy is 'exp'"),
    ("ReduceLROnPlateau", dict(mode="low"), "mode is 'low'"), ("ReduceLROnPlateau", dict(factor=1.0), "factor is 1.0"),
    ("ReduceLROnPlateau", dict(min_lr=[0.1]), "min_lr has 1 values for 2 groups"),
    ("NoamScheduler", dict(model_size=0, warmup_steps=3), "model_size is 0"),
]


@pytest.mark.parametrize(("name", "options", "text"), WRONG, ids=[f"{name}-{text}" for name, _, text in WRONG])
def test_schedules_name_what_is_out_of_range_and_change_nothing(name, options, text):
    optimizer = optimizer_of(lnb)
    before = copy.deepcopy([{**group, "params": None} for group in optimizer.param_groups])
    with pytest.raises(lnb.ConfigError, match=rf"^{name}: {text}"):
        getattr(lr_scheduler, name)(optimizer, **options)
    assert [{**group, "params": None} for group in optimizer.param_groups] == before


def test_schedules_refuse_what_is_no_optimizer_or_cannot_be_cycled_or_resumed():
    with pytest.raises(lnb.ConfigError, match="StepLR: optimizer is a list"):
        lr_scheduler.StepLR([], 2)
    rprop = lnb.optim.Rprop([lnb.nn.Parameter([1.0])])
    with pytest.raises(lnb.ConfigError, match="CyclicLR: Rprop has neither momentum nor betas"):
        lr_scheduler.CyclicLR(rprop, 0.1, 1.0)
    with pytest.raises(lnb.ConfigError, match="StepLR: last_epoch is 3, but group 0 has no initial_lr"):
        lr_scheduler.StepLR(rprop, 2, last_epoch=3)


def test_one_cycle_ends_and_stays_as_it_was():
    optimizer = optimizer_of(lnb)
    schedule = lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=3)
    followed(schedule, optimizer, 3)
    before = schedule.get_last_lr()
    with pytest.raises(lnb.ConfigError, match="OneCycleLR: this is step 4, of 3"):
        schedule.step()
    assert schedule.last_epoch == 3 and schedule.get_last_lr() == before


def test_composed_schedules_refuse_what_does_not_belong_together():
    one, two = optimizer_of(lnb), optimizer_of(lnb)
    parts = [lr_scheduler.StepLR(one, 2), lr_scheduler.StepLR(one, 2)]
    for make, text in [(lambda: lr_scheduler.ChainedScheduler([]), "ChainedScheduler: there are no schedules"),
                       (lambda: lr_scheduler.SequentialLR(two, parts, [3]), "SequentialLR: schedule 0, StepLR, b"),
                       (lambda: lr_scheduler.SequentialLR(one, parts, [3, 4]), "SequentialLR: milestones is"),
                       (lambda: lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(one)]),
                        "ChainedScheduler: schedule 0 is a ReduceLROnPlateau")]:
        with pytest.raises(lnb.ConfigError, match=text):
            make()


@pytest.mark.parametrize("name", ["StepLR-step_size=3", "SequentialLR", "LambdaLR"])
def test_states_that_do_not_fit_are_refused_and_change_nothing(name):
    optimizer = optimizer_of(lnb)
    schedule = MADE[name](lr_scheduler, optimizer)
    saved = copy.deepcopy(schedule.state_dict())
    for wrong in (None, {}, {**saved, "speed": 1}, {**saved, "_last_lr": [1.0]},
                  {**saved, "_schedulers": [{}, {}, {}]}, {**saved, "_last_lr": 3}):
        with pytest.raises(lnb.errors.StateError, match="load_state_dict: "):
            schedule.load_state_dict(wrong)
    assert schedule.state_dict() == saved

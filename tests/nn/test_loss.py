"""Cross entropy. Oracle: the definition in NumPy's float64, and torch where it is installed."""

import numpy as np
import pytest
import scipy.special

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.nn import functional as F
from lucid_nb.testing import check_grad

RNG = np.random.default_rng(2)
LOGITS, CLASSES = RNG.normal(size=(6, 4)), np.array([0, 3, 1, -100, 2, 3])
PROBABILITIES, WEIGHT = scipy.special.softmax(RNG.normal(size=(6, 4)), 1), np.array([0.5, 1.0, 2.0, 0.25])
OPTIONS = [dict(), dict(weight=WEIGHT), dict(label_smoothing=0.2), dict(weight=WEIGHT, label_smoothing=0.2)]


def definition(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    """The losses and what each counts in the mean."""
    classes = logits.shape[1]
    weight = np.ones(classes) if weight is None else weight
    goal = target if target.dtype.kind == "f" else np.eye(classes)[np.where(target == ignore_index, 0, target)]
    counts = np.ones(len(goal)) if target.dtype.kind == "f" else (goal * weight).sum(1) * (target != ignore_index)
    goal = goal * (1 - label_smoothing) + label_smoothing / classes
    losses = -(goal * weight * scipy.special.log_softmax(logits, 1)).sum(1)
    return losses if target.dtype.kind == "f" else losses * (target != ignore_index), counts


@pytest.mark.parametrize("target", [CLASSES, PROBABILITIES], ids=["classes", "probabilities"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_cross_entropy_follows_its_definition(options, target):
    losses, counts = definition(LOGITS, target, **options)
    for reduction, expected in [("none", losses), ("sum", losses.sum()), ("mean", losses.sum() / counts.sum())]:
        found = F.cross_entropy(LOGITS, target, reduction=reduction, **options).numpy()
        assert np.allclose(found, expected, rtol=1e-12), reduction


@pytest.mark.parametrize("target", [CLASSES, PROBABILITIES], ids=["classes", "probabilities"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_equals_torch_with_gradient(target, options, reduction):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = lnb.tensor(LOGITS, requires_grad=True), torch.tensor(LOGITS, requires_grad=True)
    loss = nn.CrossEntropyLoss(reduction=reduction, **options)(ours, target)
    options = {key: torch.tensor(value) if key == "weight" else value for key, value in options.items()}
    other = torch.nn.functional.cross_entropy(theirs, torch.tensor(target), reduction=reduction, **options)
    assert np.allclose(loss.detach().numpy(), other.detach().numpy(), rtol=1e-12)
    loss.sum().backward()
    other.sum().backward()
    assert np.allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("target", [CLASSES, PROBABILITIES], ids=["classes", "probabilities"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_cross_entropy_has_its_gradient_to_second_order(options, target):
    check_grad(lambda logits: F.cross_entropy(logits, target, **options), LOGITS, order=2)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_cross_entropy_with_places_beside_the_batch(options):
    logits, target = RNG.normal(size=(2, 4, 3)), np.array([[0, 1, -100], [3, 2, 1]])
    flat = F.cross_entropy(logits.transpose(0, 2, 1).reshape(-1, 4), target.reshape(-1), **options)
    assert F.cross_entropy(logits, target, **options).item() == pytest.approx(flat.item(), rel=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_cross_entropy_of_ignored_targets_is_zero_with_zero_gradient(options):
    logits = lnb.tensor(LOGITS, requires_grad=True)
    loss = F.cross_entropy(logits, np.full(6, -100), **options)
    loss.backward()
    assert loss.item() == 0 and not logits.grad.numpy().any()


def test_cross_entropy_refuses_bad_arguments():
    with pytest.raises(lnb.errors.IndexError, match="-4"):
        F.cross_entropy(LOGITS, np.full(6, -4), weight=WEIGHT)
    with pytest.raises(lnb.ShapeError, match="Give one number a class"):
        F.cross_entropy(LOGITS, CLASSES, weight=np.ones(3))
    with pytest.raises(lnb.ShapeError, match="probabilities"):
        F.cross_entropy(LOGITS, PROBABILITIES[:, :3])
    for options in (dict(reduction="average"), dict(label_smoothing=2)):
        with pytest.raises(lnb.ConfigError):
            nn.CrossEntropyLoss(**options)


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan"), "0.1"])
def test_label_smoothing_outside_of_zero_to_one_is_refused(share):
    with pytest.raises(lnb.ConfigError, match=r"cross_entropy: label_smoothing is .*\. Use a number from 0 to 1"):
        F.cross_entropy(LOGITS, CLASSES, label_smoothing=share)
    with pytest.raises(lnb.ConfigError, match="CrossEntropyLoss: label_smoothing is"):
        nn.CrossEntropyLoss(label_smoothing=share)

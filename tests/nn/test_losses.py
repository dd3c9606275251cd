"""Every loss but cross entropy, by one table: NumPy's formula in float64, torch where it is installed, finite
differences to second order, other devices and dtypes, and the module of each function."""

import inspect
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, nn
from lucid_nb.nn import functional as F
from lucid_nb.testing import assert_close, check_grad

RNG = np.random.default_rng(21)
ROWS, SIZE = 5, 4


def numbers(*shape, low=-2.0, high=2.0):
    """Evenly distributed numbers."""
    return RNG.uniform(low, high, shape)


def signs(*shape):
    """1 and -1."""
    return RNG.choice([-1.0, 1.0], shape)


X, Y, Z = (numbers(ROWS, SIZE) for _ in range(3))
WEIGHT, CLASS_WEIGHT = numbers(ROWS, SIZE, low=0.2), numbers(SIZE, low=0.2)
P, SHARES = numbers(ROWS, SIZE, low=0.01, high=0.99), numbers(ROWS, SIZE, low=0.0, high=1.0)
BITS = signs(ROWS, SIZE) > 0
POSITIVE, COUNTS = numbers(ROWS, SIZE, low=0.1), RNG.integers(0, 6, (ROWS, SIZE)).astype(float)
LOG_P = np.log(P / P.sum(1, keepdims=True))
CLASSES = np.array([0, 3, 1, 1, 2])
IMAGES, PLACES = numbers(2, SIZE, 3), RNG.integers(0, SIZE, (2, 3))
LISTS = np.array([[3, 0, -1, 1], [-1, 0, 0, 0], [0, 1, 2, 3], [2, -1, 3, -1], [1, 1, -1, 0]])
hinge = lambda x: np.maximum(x, 0)
softplus = lambda x: np.logaddexp(0, x)
distance = lambda a, b, p=2: (np.abs(a - b + 1e-6) ** p).sum(-1) ** (1 / p)
EVEN = np.ones(SIZE)


def logits_loss(x, t, weight=1.0, pos_weight=1.0):
    return weight * (pos_weight * t * softplus(-x) + (1 - t) * softplus(x))


def smooth(d, delta):
    return np.where(np.abs(d) < delta, d * d / 2, delta * (np.abs(d) - delta / 2))


def poisson(x, t, log_input=True, full=False, eps=1e-8):
    stirling = np.where(t > 1, t * np.log(np.maximum(t, 1)) - t + 0.5 * np.log(2 * np.pi * np.maximum(t, 1)), 0)
    return (np.exp(x) - t * x if log_input else x - t * np.log(x + eps)) + full * stirling


def multi_margin(x, t, p=1, margin=1.0, weight=EVEN):
    own = np.take_along_axis(x, t[:, None], 1)
    return (hinge(margin - own + x) ** p * (np.arange(SIZE) != t[:, None])).sum(1) * weight[t] / SIZE


def multilabel_margin(x, t):
    found = []
    for row, listed in zip(x, t.tolist()):
        right = listed[:listed.index(-1)] if -1 in listed else listed
        found.append(sum(max(0, 1 - row[i] + row[j]) for i in right for j in range(SIZE) if j not in right) / SIZE)
    return np.array(found)


def cosine(a, b):
    return (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))


def triplet(a, p, n, margin=1.0, order=2, swap=False):
    far = distance(a, n, order)
    return hinge(margin + distance(a, p, order) - (np.minimum(far, distance(p, n, order)) if swap else far))


# (function, inputs that are differentiated, others, options, the losses by NumPy)
CASES = [
    ("mse_loss", [X, Y], [], {}, lambda x, y: (x - y) ** 2), ("l1_loss", [X, Y], [], {}, lambda x, y: np.abs(x - y)),
    ("huber_loss", [X, Y], [], {}, lambda x, y: smooth(x - y, 1)),
    ("huber_loss", [X, Y], [], dict(delta=0.5), lambda x, y, delta: smooth(x - y, delta)),
    ("smooth_l1_loss", [X, Y], [], dict(beta=0.5), lambda x, y, beta: smooth(x - y, beta) / beta),
    ("smooth_l1_loss", [X, Y], [], dict(beta=0.0), lambda x, y, beta: np.abs(x - y)),
    ("binary_cross_entropy", [P, SHARES], [], {}, lambda p, t: -t * np.log(p) - (1 - t) * np.log1p(-p)),
    ("binary_cross_entropy", [P], [BITS.astype(float)], dict(weight=CLASS_WEIGHT),
     lambda p, t, weight: weight * (-t * np.log(p) - (1 - t) * np.log1p(-p))),
    ("binary_cross_entropy_with_logits", [X, SHARES], [], {}, logits_loss),
    ("binary_cross_entropy_with_logits", [X], [BITS.astype(float)], dict(weight=WEIGHT, pos_weight=CLASS_WEIGHT),
     logits_loss),
    ("soft_margin_loss", [X], [signs(ROWS, SIZE)], {}, lambda x, t: softplus(-t * x)),
    ("hinge_embedding_loss", [X], [signs(ROWS, SIZE)], dict(margin=0.7),
     lambda x, t, margin: np.where(t == 1, x, hinge(margin - x))),
    ("kl_div", [LOG_P, POSITIVE], [], {}, lambda x, t: t * (np.log(t) - x)),
    ("kl_div", [LOG_P, np.log(POSITIVE)], [], dict(log_target=True), lambda x, t, log_target: np.exp(t) * (t - x)),
    ("poisson_nll_loss", [X], [COUNTS], {}, poisson), ("poisson_nll_loss", [X], [COUNTS], dict(full=True), poisson),
    ("poisson_nll_loss", [POSITIVE], [COUNTS], dict(log_input=False, eps=1e-3), poisson),
    ("gaussian_nll_loss", [X, Y, POSITIVE], [], {}, lambda x, t, v: 0.5 * (np.log(v) + (x - t) ** 2 / v)),
    ("gaussian_nll_loss", [X, Y, POSITIVE[:, 0]], [], dict(full=True),
     lambda x, t, v, full: 0.5 * (np.log(2 * np.pi * v[:, None]) + (x - t) ** 2 / v[:, None])),
    ("nll_loss", [LOG_P], [CLASSES], {}, lambda x, t: -x[range(ROWS), t]),
    ("nll_loss", [IMAGES], [PLACES], {}, lambda x, t: -np.take_along_axis(x, t[:, None], 1)[:, 0]),
    ("nll_loss", [LOG_P[0]], [CLASSES[0]], {}, lambda x, t: -x[t]),
    ("multi_margin_loss", [X], [CLASSES], {}, multi_margin),
    ("multi_margin_loss", [X], [CLASSES], dict(p=2, margin=0.5, weight=CLASS_WEIGHT), multi_margin),
    ("multilabel_margin_loss", [X], [LISTS], {}, multilabel_margin),
    ("multilabel_soft_margin_loss", [X], [BITS.astype(float)], {}, lambda x, t: logits_loss(x, t).mean(-1)),
    ("multilabel_soft_margin_loss", [X], [BITS.astype(float)], dict(weight=CLASS_WEIGHT),
     lambda x, t, weight: logits_loss(x, t, weight).mean(-1)),
    ("margin_ranking_loss", [X, Y], [signs(ROWS, SIZE)], dict(margin=0.3),
     lambda x, y, t, margin: hinge(margin - t * (x - y))),
    ("cosine_embedding_loss", [X, Y], [np.array([1.0, 1, -1, -1, -1])], dict(margin=-0.2),
     lambda x, y, t, margin: np.where(t == 1, 1 - cosine(x, y), hinge(cosine(x, y) - margin))),
    ("triplet_margin_loss", [X, Y, Z], [], {}, triplet),
    ("triplet_margin_loss", [X, Y, Z], [], dict(margin=2.0, p=3, swap=True),
     lambda a, p_, n, margin, p, swap: triplet(a, p_, n, margin, p, swap)),
    ("triplet_margin_with_distance_loss", [X, Y, Z], [], {}, triplet),
]
MODULES = dict(
    mse_loss="MSELoss", l1_loss="L1Loss", huber_loss="HuberLoss", smooth_l1_loss="SmoothL1Loss",
    binary_cross_entropy="BCELoss", binary_cross_entropy_with_logits="BCEWithLogitsLoss", nll_loss="NLLLoss",
    soft_margin_loss="SoftMarginLoss", hinge_embedding_loss="HingeEmbeddingLoss", kl_div="KLDivLoss",
    poisson_nll_loss="PoissonNLLLoss", gaussian_nll_loss="GaussianNLLLoss", multi_margin_loss="MultiMarginLoss",
    multilabel_margin_loss="MultiLabelMarginLoss", multilabel_soft_margin_loss="MultiLabelSoftMarginLoss",
    margin_ranking_loss="MarginRankingLoss", cosine_embedding_loss="CosineEmbeddingLoss",
    triplet_margin_loss="TripletMarginLoss", triplet_margin_with_distance_loss="TripletMarginWithDistanceLoss")
CASE_IDS = [f"{case[0]}-{number}" for number, case in enumerate(CASES)]
NARROW = ("huber_loss", "binary_cross_entropy_with_logits", "kl_div", "nll_loss", "triplet_margin_loss")
tables = pytest.mark.parametrize("name, inputs, others, options, formula", CASES, ids=CASE_IDS)


def with_arrays(options, make, dtype=None):
    """Options whose arrays are tensors."""
    return {key: make(value if dtype is None else value.astype(dtype)) if isinstance(value, np.ndarray) else value
            for key, value in options.items()}


def cast(array, dtype):
    """Floats in another dtype."""
    return array.astype(dtype) if array.dtype.kind == "f" else array


@tables
def test_value_follows_the_formula_and_the_module_the_function(name, inputs, others, options, formula):
    losses = formula(*inputs, *others, **options)
    for reduction, wanted in [("none", losses), ("sum", losses.sum()), ("mean", losses.mean())]:
        found = getattr(F, name)(*inputs, *others, reduction=reduction, **options)
        assert_close(found, wanted, rtol=1e-9, atol=1e-12)
        module = getattr(nn, MODULES[name])(reduction=reduction, **options)
        assert_close(module(*map(lnb.asarray, (*inputs, *others))), found, rtol=0)


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides:UserWarning")
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@tables
def test_value_and_gradient_equal_torch(name, inputs, others, options, formula, reduction):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = ([make(x, requires_grad=True) for x in inputs] for make in (lnb.tensor, torch.tensor))
    found = getattr(F, name)(*ours, *others, reduction=reduction, **options)
    other = getattr(torch.nn.functional, name)(*theirs, *map(torch.as_tensor, others), reduction=reduction,
                                               **with_arrays(options, torch.tensor))
    assert_close(found.detach(), other.detach().numpy(), rtol=1e-11, atol=1e-13)
    found.sum().backward()
    other.sum().backward()
    for x, y in zip(ours, theirs):
        assert_close(x.grad, y.grad.numpy(), rtol=1e-9, atol=1e-13)


@tables
def test_gradient_follows_finite_differences(name, inputs, others, options, formula):
    check_grad(lambda *xs: getattr(F, name)(*xs, *others, reduction="none", **options), *inputs)


@tables
def test_value_and_gradient_in_narrower_floats_and_on_mlx_follow_float64(name, inputs, others, options, formula):
    def results(device, dtype):
        tensors = [lnb.asarray(x.astype(dtype), device=device) for x in inputs]
        for x in tensors:
            x.requires_grad = True
        rest = [lnb.asarray(cast(x, dtype), device=device) for x in others]
        make = lambda x: lnb.asarray(x, device=device)
        found = getattr(F, name)(*tensors, *rest, **with_arrays(options, make, dtype))
        found.backward()
        return [found, *[x.grad for x in tensors]]

    exact = [x.detach().to_host() for x in results("cpu", "float64")]
    narrow = [("cpu", "float16", 2e-2)] if name in NARROW else []
    devices = ["cpu", "mlx"] if lnb.backend.is_usable("mlx") else ["cpu"]
    for device, dtype, rtol in [*[(device, "float32", 1e-5) for device in devices], *narrow]:
        for got, wanted in zip(results(device, dtype), exact):
            assert got.dtype == dtype and got.device == device
            assert_close(got.detach(), wanted, rtol=rtol, atol=rtol * max(1.0, float(np.abs(wanted).max())))


@pytest.mark.cuda_simulator
@tables
def test_value_and_gradient_on_cuda_follow_the_cpu(name, inputs, others, options, formula):
    def results(device):
        tensors = [lnb.asarray(x[:2].astype("float32") if x.ndim else x, device=device) for x in inputs]
        for x in tensors:
            x.requires_grad = True
        rest = [lnb.asarray(cast(x[:2] if x.ndim else x, "float32"), device=device) for x in others]
        given = {key: value[:2] if getattr(value, "ndim", 0) == 2 else value for key, value in options.items()}
        make = lambda x: lnb.asarray(x, device=device)
        found = getattr(F, name)(*tensors, *rest, **with_arrays(given, make, "float32"))
        found.backward()
        return [x.detach().to_host() for x in (found, *[x.grad for x in tensors])]

    if name == "nll_loss" and inputs[0].ndim == 1:
        pytest.skip("one example is cut to two classes")
    for got, wanted in zip(results("cuda"), results("cpu")):
        assert_close(got, wanted, rtol=1e-4, atol=1e-5)


def test_modules_have_the_arguments_of_torch():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    left_out = {"size_average", "reduce", "weight"}                     # the first two are deprecated
    for name in (*MODULES.values(), "CrossEntropyLoss", "CosineSimilarity", "PairwiseDistance"):
        ours, theirs = (inspect.signature(getattr(space, name)).parameters for space in (nn, torch.nn))
        shared = {key: value.default for key, value in theirs.items() if key not in left_out}
        assert {key: value.default for key, value in ours.items() if key not in left_out} == shared, name


# ------------------------------------------------------------------------------------ the ends of the domains
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_losses_of_logits_are_exact_in_both_tails(dtype):
    x = np.array([-1e4, -1000, -80, -20, 0, 20, 80, 1000, 1e4], dtype)
    wide = x.astype("longdouble")
    for target in (0.0, 1.0, 0.25):
        found = F.binary_cross_entropy_with_logits(x, np.full_like(x, target), reduction="none")
        assert found.dtype == dtype
        assert_close(found, logits_loss(wide, np.longdouble(target)), ulp=6)
    assert_close(F.soft_margin_loss(x, np.ones_like(x), "none"), softplus(-wide), ulp=4)
    logits = np.stack([x, -x], 1)
    found = F.cross_entropy(logits, np.zeros(x.size, int), reduction="none")
    assert_close(found, softplus(-2 * wide), rtol=1e-5 if dtype == "float32" else 1e-14, atol=np.finfo(dtype).eps)
    for loss in (found, F.multilabel_soft_margin_loss(logits, np.ones_like(logits))):
        assert np.isfinite(loss.numpy()).all()


def test_gradient_of_logits_keeps_both_tails():
    x = lnb.tensor(np.array([-50, 0, 50.0]), requires_grad=True)
    F.binary_cross_entropy_with_logits(x, [0, 1, 1], reduction="sum").backward()
    assert_close(x.grad, [np.exp(-50), -0.5, -np.exp(-50)], rtol=1e-14)


def test_curvature_where_a_kink_is_only_in_how_it_is_written():
    for f in (lambda x: F.binary_cross_entropy_with_logits(x, lnb.asarray([1.0, 0.0]), reduction="sum"),
              lambda x: F.huber_loss(x, lnb.zeros(2), "sum"), lambda x: F.smooth_l1_loss(x, lnb.zeros(2), "sum")):
        check_grad(f, np.zeros(2))


def test_certain_probabilities_give_what_torch_gives():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    values, target = [0.0, 0.0, 1.0, 1.0, 1e-30], [0.0, 1.0, 0.0, 1.0, 1.0]
    ours, theirs = lnb.tensor(values, requires_grad=True), torch.tensor(values, dtype=torch.float64, requires_grad=True)
    found = F.binary_cross_entropy(ours, target, reduction="none")
    other = torch.nn.functional.binary_cross_entropy(theirs, theirs.new_tensor(target), reduction="none")
    assert_close(found.detach(), other.detach().numpy(), rtol=1e-14)
    found.sum().backward()
    other.sum().backward()
    assert_close(ours.grad, theirs.grad.numpy(), rtol=1e-8)              # torch's 1e-12 is that of float32


def test_divergence_from_what_never_happens_is_zero():
    x = lnb.tensor(np.array([-np.inf, -1.0]), requires_grad=True)
    loss = F.kl_div(x, [0.0, 1.0], "sum")
    loss.backward()
    assert loss.item() == 1 and x.grad.tolist() == [0, -1]
    assert F.kl_div(x.detach(), [-np.inf, 0.0], "sum", log_target=True).item() == 1


def test_batchmean_divides_by_the_batch():
    found = F.kl_div(LOG_P, POSITIVE, "batchmean").item()
    assert found == pytest.approx(F.kl_div(LOG_P, POSITIVE, "sum").item() / ROWS, rel=1e-14)
    assert nn.KLDivLoss("batchmean")(LOG_P, POSITIVE).item() == found


def test_gradient_of_a_variance_below_eps_is_that_at_eps():
    v = lnb.tensor(np.array([0.0, 0.25]), requires_grad=True)
    F.gaussian_nll_loss(np.ones(2), np.zeros(2), v, eps=0.5, reduction="sum").backward()
    assert v.grad.tolist() == [0.5 * (1 / 0.5 - 1 / 0.5 ** 2)] * 2


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weights_of_elements_divide_the_mean(name):
    losses = getattr(F, name)(X, Y, "none").numpy() * WEIGHT
    for reduction, wanted in [("none", losses), ("sum", losses.sum()), ("mean", losses.sum() / WEIGHT.sum())]:
        assert_close(getattr(F, name)(X, Y, reduction, weight=WEIGHT), wanted, rtol=1e-13)


@pytest.mark.parametrize("options", [dict(), dict(weight=CLASS_WEIGHT)], ids=str)
def test_ignored_classes_count_for_nothing(options):
    target, kept = np.where([True, True, False, True, False], CLASSES, -1), [0, 1, 3]
    weights = options.get("weight", np.ones(SIZE))[CLASSES[kept]]
    losses = -LOG_P[kept, CLASSES[kept]] * weights
    assert_close(F.nll_loss(LOG_P, target, ignore_index=-1, **options), losses.sum() / weights.sum(), rtol=1e-13)
    x = lnb.tensor(LOG_P, requires_grad=True)
    loss = F.nll_loss(x, np.full(ROWS, -100), **options)
    loss.backward()
    assert loss.item() == 0 and not x.grad.numpy().any()


def test_integers_and_lists_take_the_dtype_of_the_input():
    x = np.float32([0.5, 2.0])
    for target in ([1.0, 2.0], [1, 2], np.array([1, 2]), np.array([1, 2], "int8")):
        assert F.mse_loss(x, target).dtype == np.float32
    assert F.mse_loss([1, 2], [1, 2]).dtype == np.float64
    assert F.mse_loss(x, np.array([1.0, 2.0])).dtype == np.float64


# --------------------------------------------------------------------------------------------------- distances
@pytest.mark.parametrize("p", [1, 2, 3.5, math.inf])
def test_pairwise_distance_follows_its_formula(p):
    wanted = np.linalg.norm(X - Y + 1e-6, p, -1, keepdims=True)
    assert_close(F.pairwise_distance(X, Y, p, keepdim=True), wanted, rtol=1e-13)
    assert_close(nn.PairwiseDistance(p)(X, Y), wanted[:, 0], rtol=1e-13)
    check_grad(lambda x, y: F.pairwise_distance(x, y, p), X, Y)


def test_cosine_similarity_follows_its_formula():
    a, b = numbers(2, 3, 4), numbers(3, 1)
    wanted = (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b))
    assert_close(F.cosine_similarity(a, b[None]), wanted, rtol=1e-13)
    assert_close(F.cosine_similarity(X, Y, axis=-1), cosine(X, Y), rtol=1e-13)
    assert_close(nn.CosineSimilarity(dim=0)(X, Y), cosine(X.T, Y.T), rtol=1e-13)
    check_grad(F.cosine_similarity, X, Y)
    assert [F.cosine_similarity(3.0, y, dim=dim).item() for y in (2.0, -2.0) for dim in (0, -1)] == [1, 1, -1, -1]
    a, b = numbers(1, 2, 3), numbers(2, 1, 3)                         # the axis itself is broadcast
    wanted = cosine(*[np.moveaxis(x, 1, -1) for x in np.broadcast_arrays(a, b)])
    assert_close(F.cosine_similarity(a, b, dim=-2), wanted, rtol=1e-13)
    check_grad(lambda x, y: F.cosine_similarity(x, y, dim=-2), a, b)
    x = lnb.tensor(np.zeros((1, 3)), requires_grad=True)
    F.cosine_similarity(x, np.ones((1, 3))).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


# ------------------------------------------------------------------------------------------------------ errors
def test_shapes_that_broadcast_warn():
    with pytest.warns(UserWarning, match=r"mse_loss: input \(5, 1\) and target \(5,\) broadcast"):
        assert F.mse_loss(X[:, :1], X[:, 0], "none").shape == (5, 5)


@pytest.mark.parametrize("call, error, text", [
    (lambda: F.mse_loss(X, Y, "average"), errors.ConfigError,
     "mse_loss: reduction is 'average'. Use 'mean', 'sum' or 'none'"),
    (lambda: nn.L1Loss("average"), errors.ConfigError, "L1Loss: reduction is 'average'"),
    (lambda: F.mse_loss(X, Y, weight=[1.0]), errors.ShapeError, r"mse_loss: weight \(1,\) for losses \(5, 4\)"),
    (lambda: F.huber_loss(X, Y, delta=0), errors.ConfigError, "huber_loss: delta is 0"),
    (lambda: F.smooth_l1_loss(X, Y, beta=-1), errors.ConfigError, "smooth_l1_loss: beta is -1"),
    (lambda: F.binary_cross_entropy(P, P[0]), errors.ShapeError,
     r"binary_cross_entropy: input \(5, 4\) and target \(4,\)"),
    (lambda: F.nll_loss(X, CLASSES + 1), errors.IndexError, r"nll_loss: target 4 at \(1,\) is no class. Use 0 to 3"),
    (lambda: F.nll_loss(X, CLASSES[:2]), errors.ShapeError, r"nll_loss: logits \(5, 4\) and target \(2,\)"),
    (lambda: F.nll_loss(X, CLASSES, np.ones(3)), errors.ShapeError, "nll_loss: weight .* one number a class"),
    (lambda: F.multi_margin_loss(X, CLASSES, p=3), errors.ConfigError, "multi_margin_loss: p is 3. Use 1 or 2"),
    (lambda: F.multi_margin_loss(IMAGES, PLACES), errors.ShapeError,
     r"multi_margin_loss: an input of shape \(2, 4, 3\)"),
    (lambda: F.multi_margin_loss(X, -CLASSES), errors.IndexError,
     r"multi_margin_loss: target -3 at \(1,\) is no class"),
    (lambda: F.multilabel_margin_loss(X, LISTS + 1), errors.IndexError, "multilabel_margin_loss: target 4 at"),
    (lambda: F.multilabel_margin_loss(X, X), errors.DTypeError, "multilabel_margin_loss: target is float64"),
    (lambda: F.gaussian_nll_loss(X, Y, -POSITIVE), errors.ConfigError, "gaussian_nll_loss: var has a negative number"),
    (lambda: F.gaussian_nll_loss(X, Y, POSITIVE[:3]), errors.ShapeError,
     r"gaussian_nll_loss: var \(3, 4\) for an input"),
    (lambda: F.gaussian_nll_loss(X, Y, 1.0, eps=0), errors.ConfigError, "gaussian_nll_loss: eps is 0"),
    (lambda: F.triplet_margin_loss(X, Y, Z, margin=0), errors.ConfigError, "triplet_margin_loss: margin is 0"),
    (lambda: F.triplet_margin_loss(X, Y, Z[0]), errors.ShapeError, "triplet_margin_loss: anchor"),
    (lambda: F.margin_ranking_loss(X, Y, [1.0]), errors.ShapeError, "margin_ranking_loss: inputs"),
    (lambda: F.cosine_embedding_loss(X, Y, 1.0), errors.ShapeError, "cosine_embedding_loss: inputs"),
], ids=lambda value: "")
def test_bad_arguments_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_one_hot_is_torchs():
    torch = pytest.importorskip("torch")
    for classes, count in (([2, 0], -1), ([[1, 3]], 5), (2, -1), (np.zeros((0, 2), int), 3)):
        theirs = torch.nn.functional.one_hot(torch.tensor(classes), count)
        np.testing.assert_array_equal(F.one_hot(classes, num_classes=count).to_host(), theirs.numpy(), strict=True)
    for classes, count, kind in (([3], 3, errors.IndexError), ([-1], -1, errors.IndexError),
                                 (np.zeros(0, int), -1, errors.ShapeError), ([0.5], 3, errors.DTypeError)):
        with pytest.raises(kind, match="one_hot: "):
            F.one_hot(classes, count)


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, np.inf])
@given(rows=st.integers(0, 5), size=st.integers(0, 4))
def test_distances_of_all_pairs_are_those_of_scipy(p, rows, size):
    x = np.random.default_rng(rows).integers(-2, 3, (rows, size)) + 0.0
    found = F.pdist(x, p).numpy()
    pairs = [x[i] - x[j] for i in range(rows) for j in range(i + 1, rows)]
    wanted = np.array([np.linalg.norm(pair, p) if size else 0.0 for pair in pairs])
    assert found.shape == (rows * (rows - 1) // 2,)
    assert_close(found, wanted, rtol=1e-13)
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    assert_close(found, torch.nn.functional.pdist(torch.tensor(x), float(p)).numpy(), rtol=1e-13)


def test_distances_of_all_pairs_have_gradients_0_where_rows_are_equal():
    check_grad(F.pdist, np.random.default_rng(0).standard_normal((4, 3)))
    x = lnb.tensor([[1.0, 2.0], [1.0, 2.0], [4.0, 6.0]], requires_grad=True)
    F.pdist(x).sum().backward()
    assert_close(x.grad, np.array([[-0.6, -0.8], [-0.6, -0.8], [1.2, 1.6]]), rtol=1e-15)
    with pytest.raises(errors.ShapeError, match=r"pdist: an input of shape \(3,\)"):
        F.pdist(np.ones(3))
    with pytest.raises(errors.ConfigError, match="p is -1"):
        F.pdist(np.ones((3, 2)), -1)


@pytest.mark.parametrize("target", [0.0, 0.5, 1.0])
def test_binary_cross_entropy_of_what_is_no_probability_is_nan_for_every_target(target):
    found = F.binary_cross_entropy(np.float32([-0.1, 1.1, np.nan, 0.0, 0.5, 1.0]), [target] * 6, reduction="none")
    wanted = [np.nan] * 3 + [100 * target, np.log(2), 100 * (1 - target)]        # logarithms stop at -100
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)

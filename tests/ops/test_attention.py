"""Attention on every device against float64 NumPy; gradients to second order; masks, groups and wrong arguments."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.nn import functional as F
from lucid_nb.testing import assert_close, check_grad

RNG = np.random.default_rng(5)
DEVICES = ["cpu", "mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)]
attend = F.scaled_dot_product_attention


def numbers(*shape):
    return RNG.standard_normal(shape)


def reference(q, k, v, mask=None, causal=False, scale=None):
    """The whole matrix in float64; heads of keys are repeated for those of queries."""
    if q.ndim > 2 and k.shape[-3] not in (1, q.shape[-3]):
        k, v = (x.repeat(q.shape[-3] // k.shape[-3], -3) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    return weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300) @ v


BOOLS = RNG.random((3, 4)) < 0.6
BOOLS[1] = False
# (query, key, value, options of both)
CASES = {
    "plain": ((2, 3, 2), (2, 4, 2), (2, 4, 3), {}),
    "matrices": ((3, 2), (4, 2), (4, 3), {}),
    "causal": ((2, 2, 3, 2), (2, 2, 4, 2), (2, 2, 4, 3), {"causal": True}),
    "more queries than keys": ((5, 2), (3, 2), (3, 3), {"causal": True, "scale": 2.0}),
    "bools and a row that sees nothing": ((2, 3, 2), (2, 4, 2), (2, 4, 3), {"mask": BOOLS}),
    "numbers": ((2, 2, 3, 2), (2, 2, 4, 2), (2, 2, 4, 3), {"mask": numbers(2, 1, 4)}),
    "mask of batches": ((3, 2, 2, 3, 2), (3, 2, 2, 4, 2), (3, 2, 2, 4, 3), {"mask": numbers(2, 1, 3, 4)}),
    "keys for all heads": ((2, 3, 3, 2), (2, 1, 4, 2), (4, 3), {}),
    "groups": ((2, 4, 3, 2), (2, 2, 4, 2), (2, 2, 4, 3), {"mask": numbers(4, 3, 1)}),
}
each_case = pytest.mark.parametrize("name", CASES)


def case(name):
    *shapes, options = CASES[name]
    ours = {"is_causal": options.get("causal", False), "scale": options.get("scale"), "enable_gqa": name == "groups",
            "attn_mask": options.get("mask")}
    return [numbers(*shape) for shape in shapes], options, ours


@each_case
@pytest.mark.parametrize("device", DEVICES)
def test_attention_is_the_whole_matrix(device, name):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    inputs, options, ours = case(name)
    given = [lnb.asarray(x.astype(np.float32), device=device) for x in inputs]
    mask = ours.pop("attn_mask")
    if mask is not None:
        mask = lnb.asarray(mask if mask.dtype == bool else mask.astype(np.float32), device=device)
    assert_close(attend(*given, mask, **ours).to("cpu"), reference(*inputs, **options).astype(np.float32), rtol=2e-5,
                 atol=2e-5)


@each_case
def test_gradients_to_second_order(name):
    inputs, _, ours = case(name)
    mask = ours.pop("attn_mask")
    if mask is None or mask.dtype == bool:
        check_grad(lambda q, k, v: attend(q, k, v, mask, **ours), *inputs)
    else:
        check_grad(lambda q, k, v, m: attend(q, k, v, m, **ours), *inputs, mask)


def test_gradients_on_mlx_are_those_of_the_cpu():
    if "mlx" not in lnb.devices():
        pytest.skip("mlx is not usable here")
    inputs, _, ours = case("groups")
    found = []
    for device in ("cpu", "mlx"):
        given = [lnb.tensor(x.astype(np.float32), device=device, requires_grad=True)
                 for x in (*inputs, ours["attn_mask"])]
        attend(*given, enable_gqa=True).sum().backward()
        found.append([x.grad.to("cpu").numpy() for x in given])
    for one, other in zip(*found):
        assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_row_that_sees_nothing_gives_zeros_and_no_gradient():
    q, k, v = (lnb.tensor(numbers(3, 2), requires_grad=True) for _ in range(3))
    mask = np.array([[True, False, True], [False, False, False], [True, True, False]])
    out = attend(q, k, v, mask)
    out[1].sum().backward()
    assert not out[1].detach().numpy().any()
    assert not any(x.grad.numpy().any() for x in (q, k, v))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_compute_in_float32(dtype):
    q, k, v = (lnb.asarray(numbers(2, 5, 4)).astype(dtype).detach() for _ in range(3))
    for x in (q, k, v):
        x.requires_grad = True
    out = attend(q, k, v)
    out.sum().backward()
    wide = [x.detach().astype("float64").numpy() for x in (q, k, v)]
    assert out.dtype == q.dtype == q.grad.dtype
    expected = reference(*wide)
    epsilon = 2.0 ** (-10 if dtype == "float16" else -7)
    assert np.abs(out.detach().astype("float64").numpy() - expected).max() <= epsilon * np.abs(expected).max()


WRONG = [
    (((3, 2), (4, 3), (4, 3)), {}, errors.ShapeError, "as many features"),
    (((3, 2), (4, 2), (5, 3)), {}, errors.ShapeError, "as many positions"),
    (((2,), (4, 2), (4, 3)), {}, errors.ShapeError, "2 axes"),
    (((2, 3, 2), (3, 4, 2), (3, 4, 2)), {}, errors.ShapeError, "do not broadcast"),
    (((3, 3, 2), (2, 4, 2), (2, 4, 2)), {"enable_gqa": True}, errors.ShapeError, "3 heads of queries in groups for 2"),
    (((3, 2), (4, 2), (4, 2)), {"attn_mask": np.ones((2, 4))}, errors.ShapeError, "do not broadcast"),
    (((3, 2), (4, 2), (4, 2)), {"attn_mask": np.ones((5, 3, 4))}, errors.ShapeError, "must broadcast to"),
    (((3, 2), (4, 2), (4, 2)), {"attn_mask": np.ones((3, 4), int)}, errors.DTypeError, "Use bool"),
    (((3, 2), (4, 2), (4, 2)), {"attn_mask": np.ones((3, 4)), "is_causal": True}, errors.ConfigError, "triangle"),
    (((3, 2), (4, 2), (4, 2)), {"scale": "x"}, errors.DTypeError, "Use a number"),
    (((3, 2), (4, 2), (4, 2)), {"dropout_p": 1.5}, errors.ConfigError, "probability"),
]


@pytest.mark.parametrize(("shapes", "options", "kind", "text"), WRONG, ids=[text for *_, text in WRONG])
def test_wrong_arguments_are_refused(shapes, options, kind, text):
    with pytest.raises(kind, match=text):
        attend(*[np.ones(shape) for shape in shapes], **options)


def test_dropout_keeps_the_mean_and_drops_whole_weights():
    lnb.random.seed(0)
    q, v = np.zeros((4, 64, 2)), np.eye(64)[None].repeat(4, 0)
    weights = attend(q, q, v, dropout_p=0.25).numpy() * 64 * 0.75          # equal weights, as they were kept
    assert {*np.unique(weights.round(6))} == {0, 1}
    assert weights.mean() == pytest.approx(0.75, abs=0.02)


@pytest.mark.parametrize("device", DEVICES[1:])
@pytest.mark.parametrize("causal", [False, True])
def test_other_devices_drop_the_same_weights(device, causal):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    inputs, found = [numbers(*shape).astype(np.float32) for shape in ((1, 2, 9, 2), (1, 1, 130, 2), (1, 1, 130, 2))], []
    for place in ("cpu", device):
        lnb.random.seed(5)
        given = [lnb.tensor(x, device=place, requires_grad=True) for x in inputs]
        out = attend(*given, dropout_p=0.3, is_causal=causal, enable_gqa=True)
        out.sum().backward()
        found.append([out.detach().to("cpu").numpy(), *[x.grad.to("cpu").numpy() for x in given]])
    for one, other in zip(*found):
        assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_weights_are_dropped_alike_with_and_without_create_graph():
    """The gradient by other ops, of the same draw, is the oracle of the fused one, over several blocks."""
    inputs, found = [numbers(2, 3, rows, 5) for rows in (150, 270, 270)], []
    for recorded in (False, True):
        lnb.random.seed(5)
        given = [lnb.tensor(x, requires_grad=True) for x in inputs]
        out = attend(*given, dropout_p=0.3)
        (out ** 2).sum().backward(create_graph=recorded)
        found.append([x.grad.detach().numpy() for x in given])
    for one, other in zip(*found):
        assert_close(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_dropout_of_nothing_and_of_everything(p):
    q, k, v = (lnb.tensor(numbers(3, 4), requires_grad=True) for _ in range(3))
    out = attend(q, k, v, dropout_p=p)
    out.sum().backward()
    if p:
        assert not any(x.any() for x in (out.detach().numpy(), *[x.grad.numpy() for x in (q, k, v)]))
    else:
        assert_close(out.detach(), reference(*[x.detach().numpy() for x in (q, k, v)]), rtol=1e-12)


def test_dropped_weights_have_gradients_of_the_same_draw():
    def f(q, k, v):
        lnb.random.seed(3)
        return attend(q, k, v, dropout_p=0.4, is_causal=True)
    check_grad(f, numbers(2, 4, 2), numbers(2, 5, 2), numbers(2, 5, 3))

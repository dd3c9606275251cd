"""Attention of heads: NumPy, PyTorch's layer with its own weights where it is installed, finite differences."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors, nn
from lucid_nb.nn import functional as F
from lucid_nb.testing import check_grad

from .against_torch import assert_layers_agree

RNG = np.random.default_rng(12)
QUERIES, KEYS, BATCH, SIZE, HEADS = 5, 7, 3, 8, 2


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


PADDING = RNG.random((BATCH, KEYS)) < 0.3
PADDING[:, 0] = False
BOOLS = RNG.random((QUERIES, KEYS)) < 0.2
BOOLS[:, 1] = False
# (options of the layer, which inputs are one and the same, features of keys and values, masks)
CASES = {
    "one input": ({}, (0, 0, 0), (SIZE, SIZE), {}),
    "one input for keys and values": ({"bias": False}, (0, 1, 1), (SIZE, SIZE), {"key_padding_mask": PADDING}),
    "added positions": ({"add_bias_kv": True, "add_zero_attn": True}, (0, 1, 2), (SIZE, SIZE),
                        {"key_padding_mask": PADDING, "attn_mask": BOOLS}),
    "other features": ({"kdim": 4, "vdim": 6}, (0, 1, 2), (4, 6), {"attn_mask": numbers(BATCH * HEADS, QUERIES, KEYS)}),
    "masks of both kinds": ({}, (0, 1, 2), (SIZE, SIZE), {
        "key_padding_mask": np.where(PADDING, -np.inf, 0).astype(np.float32), "attn_mask": numbers(QUERIES, KEYS)}),
}
each_case = pytest.mark.parametrize("name", CASES)


def inputs_of(name, batch_first):
    _, same, sizes, _ = CASES[name]
    made = {}
    for number, rows, size in zip(same, (QUERIES, KEYS, KEYS), (SIZE, *sizes)):
        made.setdefault(number, numbers(BATCH, rows, size) if batch_first else numbers(rows, BATCH, size))
    return [made[number] for number in same]


@each_case
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("weights", [{}, {"average_attn_weights": False}, {"need_weights": False}], ids=str)
def test_layer_as_in_pytorch(name, batch_first, weights):
    torch = pytest.importorskip("torch")
    options = {**CASES[name][0], "batch_first": batch_first}
    assert_layers_agree(nn.MultiheadAttention(SIZE, HEADS, **options),
                        torch.nn.MultiheadAttention(SIZE, HEADS, **options), inputs_of(name, batch_first),
                        {**CASES[name][3], **weights})


@each_case
def test_fused_attention_and_its_weights_agree(name):
    layer = nn.MultiheadAttention(SIZE, HEADS, **CASES[name][0])
    inputs = inputs_of(name, False)
    out, weights = layer(*inputs, **CASES[name][3])
    fused, nothing = layer(*inputs, **CASES[name][3], need_weights=False)
    assert nothing is None and weights.shape[:2] == (BATCH, QUERIES)
    np.testing.assert_allclose(out.detach().numpy(), fused.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(weights.detach().numpy().sum(-1), 1, rtol=1e-5)


def test_layer_of_one_head_by_numpy():
    layer = nn.MultiheadAttention(4, 1, batch_first=True).double()
    x = RNG.standard_normal((3, 4))
    weight, bias = layer.in_proj_weight.detach().numpy(), layer.in_proj_bias.detach().numpy()
    q, k, v = np.split(x @ weight.T + bias, 3, 1)
    scores = np.exp(q @ k.T / 2)
    scores /= scores.sum(1, keepdims=True)
    expected = scores @ v @ layer.out_proj.weight.detach().numpy().T + layer.out_proj.bias.detach().numpy()
    out, weights = layer(*[lnb.tensor(x)] * 3)
    np.testing.assert_allclose(out.detach().numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(weights.detach().numpy(), scores, rtol=1e-12)


@pytest.mark.parametrize("shape", [(0, QUERIES, SIZE), (BATCH, 0, SIZE)], ids=str)
@pytest.mark.parametrize("need_weights", [False, True])
def test_nothing_to_attend_to_gives_nothing(shape, need_weights):
    layer, x = nn.MultiheadAttention(SIZE, HEADS, batch_first=True), lnb.zeros(shape, dtype="float32")
    out, weights = layer(x, x, x, need_weights=need_weights)
    assert out.shape == shape and (not need_weights or weights.shape == (*shape[:2], shape[1]))
    out.sum().backward()
    assert not any(p.grad.numpy().any() for p in layer.parameters())


def test_causal_hint_gives_what_the_mask_gives():
    layer, x = nn.MultiheadAttention(SIZE, HEADS), numbers(QUERIES, BATCH, SIZE)
    mask = ~np.tri(QUERIES, dtype=bool)
    hinted = layer(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)[0]
    np.testing.assert_allclose(hinted.detach().numpy(), layer(x, x, x, attn_mask=mask)[0].detach().numpy(), rtol=1e-5,
                               atol=1e-6)


@pytest.mark.parametrize("need_weights", [False, True])
def test_keys_that_are_all_left_out_give_the_bias(need_weights):
    layer, x = nn.MultiheadAttention(SIZE, HEADS), numbers(QUERIES, BATCH, SIZE)
    padding = np.zeros((BATCH, QUERIES), bool)
    padding[1] = True
    with lnb.no_grad():
        layer.out_proj.bias[...] = 3.0
        out, _ = layer(x, x, x, key_padding_mask=padding, need_weights=need_weights)
    np.testing.assert_array_equal(out.numpy()[:, 1], 3)


def test_keys_and_values_that_a_caller_has():
    torch = pytest.importorskip("torch")
    x, k, v = numbers(QUERIES, BATCH, SIZE), numbers(BATCH * HEADS, 4, 4), numbers(BATCH * HEADS, 4, 4)
    layer = nn.MultiheadAttention(SIZE, HEADS)
    weights = [layer.in_proj_weight, layer.in_proj_bias, None, None, False, 0.0, layer.out_proj.weight,
               layer.out_proj.bias]
    theirs = [torch.tensor(w.detach().numpy()) if isinstance(w, lnb.Tensor) else w for w in weights]
    wanted = torch.nn.functional.multi_head_attention_forward(
        *[torch.tensor(x)] * 3, SIZE, HEADS, *theirs, static_k=torch.tensor(k), static_v=torch.tensor(v))
    found = F.multi_head_attention_forward(x, x, x, SIZE, HEADS, *weights, static_k=k, static_v=v)
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one.detach().numpy(), other.numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(errors.ShapeError, match="static_k"):
        F.multi_head_attention_forward(x, x, x, SIZE, HEADS, *weights, static_k=k[:3])


def test_gradients_to_second_order():
    layer = nn.MultiheadAttention(4, 2).double()

    def f(x, y, weight):
        return F.multi_head_attention_forward(x, y, y, 4, 2, weight, layer.in_proj_bias, None, None, False, 0.0,
                                              layer.out_proj.weight, layer.out_proj.bias, need_weights=False)[0]
    check_grad(f, *[RNG.standard_normal(shape) for shape in ((3, 1, 4), (2, 1, 4), (12, 4))])
    check_grad(lambda x, weight: f(x, x, weight), RNG.standard_normal((3, 1, 4)), RNG.standard_normal((12, 4)))


def test_weights_are_dropped_in_training_only():
    lnb.random.seed(0)
    layer, x = nn.MultiheadAttention(SIZE, HEADS, dropout=0.5), numbers(QUERIES, BATCH, SIZE)
    trained = [layer(x, x, x, need_weights=False)[0].detach().numpy() for _ in range(2)]
    assert not np.array_equal(*trained)
    layer.eval()
    assert np.array_equal(*[layer(x, x, x, need_weights=False)[0].detach().numpy() for _ in range(2)])
    module = nn.ScaledDotProductAttention(dropout_p=0.5, is_causal=True)
    assert not np.array_equal(module(x, x, x).numpy(), module(x, x, x).numpy())
    np.testing.assert_array_equal(module.eval()(x, x, x).numpy(),
                                  F.scaled_dot_product_attention(x, x, x, is_causal=True).numpy())


@pytest.mark.parametrize("device", ["mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)])
def test_other_devices_give_the_same(device):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    layer, x = nn.MultiheadAttention(4, 2), numbers(3, 2, 4)
    expected = layer(x, x, x, need_weights=False)[0].detach().numpy()
    x = lnb.asarray(x, device=device)
    found = layer.to(device)(x, x, x, need_weights=False)[0].detach().to("cpu").numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


ONES = np.ones((QUERIES, BATCH, SIZE), np.float32)
OTHER = np.ones((KEYS, BATCH, SIZE), np.float32)


def called(*args, **options):
    return nn.MultiheadAttention(SIZE, HEADS)(*args, **options)


WRONG = [
    (lambda: nn.MultiheadAttention(8, 3), errors.ConfigError, "8 features in 3 heads"),
    (lambda: called(ONES[..., :4], ONES, ONES), errors.ShapeError, "features"),
    (lambda: called(ONES, OTHER, ONES), errors.ShapeError, "do not fit"),
    (lambda: called(ONES, OTHER[:, :2], OTHER[:, :2]), errors.ShapeError, "Batches must agree"),
    (lambda: called(ONES[None], ONES[None], ONES[None]), errors.ShapeError, "three axes"),
    (lambda: called(ONES, ONES, ONES, is_causal=True), errors.ConfigError, "without attn_mask"),
    (lambda: called(ONES, ONES, ONES, attn_mask=np.ones((5, 6))), errors.ShapeError, "attn_mask"),
    (lambda: called(ONES, ONES, ONES, attn_mask=np.ones((5, 5), int)), errors.DTypeError, "int64"),
    (lambda: called(ONES, ONES, ONES, key_padding_mask=np.ones((5, 3), bool)), errors.ShapeError, "key_padding_mask"),
    (lambda: called(*[ONES.astype(float)] * 3), errors.DTypeError, "float64"),
]


@pytest.mark.parametrize(("call", "kind", "text"), WRONG, ids=[text for *_, text in WRONG])
def test_wrong_arguments_are_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()

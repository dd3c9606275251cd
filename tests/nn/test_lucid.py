"""What lucid has in nn by other names, and what went wrong there and must not here. Oracle: NumPy, from definitions."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn

F, RNG = nn.functional, np.random.default_rng(5)
X = RNG.normal(size=(2, 4, 7, 6)).astype(np.float32)


# --------------------------------------------------------------------------------------------------- spellings
def test_names_that_both_libraries_have_mean_one_layer():
    for lucid, torch in (("HardSigmoid", "Hardsigmoid"), ("HardSwish", "Hardswish"), ("Swish", "SiLU"),
                         ("MultiHeadAttention", "MultiheadAttention")):
        assert getattr(nn, lucid) is getattr(nn, torch)


def test_arguments_go_by_lucid_s_names_too():
    assert nn.Flatten(start_axis=2, end_axis=3)(X).shape == (2, 4, 42)
    assert nn.TransformerEncoderLayer(8, num_heads=2).self_attn.num_heads == 2
    assert nn.Transformer(8, num_heads=4, num_encoder_layers=1, num_decoder_layers=1).nhead == 4
    for given in ({}, dict(nhead=2, num_heads=2)):
        with pytest.raises(lnb.ConfigError, match=r"TransformerDecoderLayer: nhead=\w+ and num_heads=\w+\. Give one"):
            nn.TransformerDecoderLayer(8, **given)


def test_attributes_are_shown_and_assigned_raw():
    @nn.auto_repr("size", "rate")
    class Scale(nn.Module):
        size, rate = 3, 0.5
    scale = Scale()
    assert repr(scale) == "Scale(size=3, rate=0.5)"
    scale.setattr_raw("helper", nn.Linear(2, 2))
    assert scale.parameter_size == 0 and nn.Linear(3, 2).parameter_size == 8 and list(scale.children()) == []


def test_reset_draws_the_parameters_of_all_layers_anew():
    net = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.BatchNorm1d(3)))
    before = net[0].weight.detach().numpy().copy()
    nn.init.constant_(net[1][0].weight, 5)
    net.reset_parameters()
    assert not np.array_equal(net[0].weight.detach().numpy(), before) and net[1][0].weight.tolist() == [1, 1, 1]


def test_backward_hook_is_removed_by_calling_its_handle():
    layer, seen = nn.Tanh(), []
    handle = layer.register_backward_hook(lambda module, before, after: seen.append(after[0].tolist()))
    x = lnb.tensor([0.5], requires_grad=True)
    layer(x).backward()
    handle()
    layer(x).backward()
    assert seen == [[1.0]]
    with layer.register_forward_hook(lambda module, args, output: output * 0):
        assert layer(x).item() == 0
    assert layer(x).item() != 0


# ------------------------------------------------------------------------------------------------------ blocks
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_blocks_are_their_layers_one_after_another(ndim):
    x = RNG.normal(size=(2, 4, 6, 5, 4)[:2 + ndim]).astype(np.float32)
    block = getattr(nn, f"ConvBNReLU{ndim}d")(4, 3, 3, padding=1, conv_bias=False, momentum=0.3)
    wanted = np.maximum(block.bn(block.conv(x)).detach().numpy(), 0)
    np.testing.assert_array_equal(block(x).detach().numpy(), wanted)
    assert block.conv.bias is None and block.bn.momentum == 0.3 and type(block.bn) is getattr(nn, f"BatchNorm{ndim}d")
    separable = getattr(nn, f"DepthSeparableConv{ndim}d")(4, 3, 3, stride=2, padding=1)
    assert separable.depthwise.groups == 4 and separable.pointwise.kernel_size == (1,) * ndim
    wanted = separable.pointwise(separable.depthwise(x)).detach().numpy()
    np.testing.assert_array_equal(separable(x).detach().numpy(), wanted)


def test_squeeze_and_excitation_weights_channels_by_their_means():
    layer = nn.SEModule(4, reduction=2)
    means = X.astype(float).mean((2, 3))
    (w1, b1), (w2, b2) = [[p.detach().numpy().astype(float) for p in fc.parameters()] for fc in (layer.fc1, layer.fc2)]
    shares = 1 / (1 + np.exp(-(np.maximum(means @ w1.T + b1, 0) @ w2.T + b2)))
    np.testing.assert_allclose(layer(X).detach().numpy(), X * shares[:, :, None, None], rtol=2e-6)
    assert sorted(layer.state_dict()) == ["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight"]
    with pytest.raises(lnb.ConfigError, match="reduction 16 of 4 channels leaves none"):
        nn.SEModule(4)
    with pytest.raises(lnb.ShapeError, match=r"SEModule: an input of shape \(2, 4, 7\)\. Give images, \(batch, 4"):
        layer(X[..., 0])


def test_selective_kernel_is_a_weighted_sum_of_its_branches():
    layer = nn.SelectiveKernel(4, 8, [1, 3], reduction=4).eval()
    one, two = (branch(X).detach().numpy() for branch in layer.branches)
    scores = layer.attention(lnb.asarray(one + two)).detach().numpy().astype(float)
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    wanted = one * shares[:, :1] + two * shares[:, 1:]
    np.testing.assert_allclose(layer(X).detach().numpy(), wanted, rtol=1e-5, atol=1e-6)
    assert nn.SelectiveKernel(4, 16, [3], stride=2)(X).shape == (2, 16, 4, 3)
    with pytest.raises(lnb.ConfigError, match="kernel_sizes is empty"):
        nn.SelectiveKernel(4, 16, [])


# ------------------------------------------------------------------------------------------- lucid's defects
def test_deleting_from_a_list_of_modules_deletes():
    layers = nn.ModuleList([nn.ReLU(), nn.Linear(1, 1), nn.Tanh()])
    del layers[0]
    assert [type(layer).__name__ for layer in layers] == ["Linear", "Tanh"]
    assert list(layers.state_dict()) == ["0.weight", "0.bias"]


def test_members_that_the_state_passes_over_are_neither_saved_nor_missed():
    @nn.set_state_dict_pass_attr("table", "frozen", "bias")
    class Half(nn.Linear):
        def __init__(self):
            super().__init__(2, 2)
            self.frozen, self.table = nn.Linear(1, 1), nn.Buffer([1.0])
    net = nn.Sequential(Half())
    assert list(net.state_dict()) == ["0.weight"]
    assert net.load_state_dict({"0.weight": np.ones((2, 2))}) == ([], [])
    with pytest.raises(lnb.errors.StateError, match=r"unexpected \['0\.bias'\]"):
        net.load_state_dict({"0.weight": np.ones((2, 2)), "0.bias": np.ones(2)})


def test_max_pool_of_negative_numbers_does_not_see_the_padding():
    x = -np.ones((1, 1, 4, 4), np.float32)
    assert (nn.MaxPool2d(3, 1, padding=1)(x) == -1).all()


@pytest.mark.parametrize("kind, reduce", [("Avg", np.mean), ("Max", np.max)])
def test_adaptive_pools_give_the_size_that_is_asked_for(kind, reduce):
    x = RNG.normal(size=(2, 3, 7)).astype(np.float32)
    found = getattr(nn, f"Adaptive{kind}Pool1d")(5)(x).numpy()
    wanted = [reduce(x.astype(float)[..., i * 7 // 5:-(-(i + 1) * 7 // 5)], -1) for i in range(5)]
    np.testing.assert_allclose(found, np.stack(wanted, -1), rtol=1e-6, atol=1e-7)


def test_drop_path_is_the_identity_in_evaluation_and_finite_at_its_ends():
    assert np.array_equal(nn.DropPath(0.9).eval()(X).numpy(), X)
    assert not nn.DropPath(1.0)(X).numpy().any() and np.array_equal(nn.DropPath(0.0)(X).numpy(), X)
    found = nn.DropPath(0.5)(np.ones((200, 3), np.float32)).numpy()
    assert set(np.unique(found)) == {0, 2} and (found == found[:, :1]).all()


def test_batch_norm_keeps_float32_in_evaluation_and_takes_two_axes():
    layer = nn.BatchNorm1d(4)
    assert layer(X[:, :, 0, 0]).dtype == layer.eval()(X[:, :, 0, 0]).dtype == np.float32
    assert {buffer.dtype.name for buffer in layer.buffers()} == {"float32", "int64"}
    variance = X[:, :, 0, 0].astype(float).var(0, ddof=1)
    np.testing.assert_allclose(layer.running_var.numpy(), 0.9 + 0.1 * variance, rtol=1e-6)


def test_same_padding_keeps_the_size_with_even_kernels():
    assert nn.Conv1d(4, 2, 2, padding="same")(X[:, :, 0]).shape == (2, 2, 6)
    assert nn.Conv2d(4, 2, (2, 4), padding="same", dilation=2)(X).shape == (2, 2, 7, 6)


def test_area_interpolation_is_the_mean_of_blocks():
    x = RNG.normal(size=(1, 2, 4, 6)).astype(np.float32)
    wanted = x.reshape(1, 2, 2, 2, 3, 2).astype(float).mean((3, 5))
    np.testing.assert_allclose(F.interpolate(x, (2, 3), mode="area").numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_masked_keys_have_no_weight_however_large_they_are():
    layer = nn.MultiHeadAttention(4, 2, batch_first=True)
    x = RNG.normal(size=(1, 3, 4)).astype(np.float32)
    x[:, 2] *= 1e15
    _, weights = layer(x[:, :2], x, x, key_padding_mask=np.array([[False, False, True]]))
    assert not weights[..., 2].detach().numpy().any() and np.allclose(weights.detach().numpy().sum(-1), 1)


def test_cross_entropy_of_large_logits_is_exact():
    logits = lnb.tensor(np.float32([[0, 200]]), requires_grad=True)
    loss = F.cross_entropy(logits, [0])
    loss.backward()
    assert loss.item() == 200 and logits.grad.tolist() == [[-1, 1]]


def test_loading_copies_and_checks():
    layer, weight = nn.Linear(2, 1), np.ones((1, 2), np.float32)
    layer.load_state_dict({"weight": weight, "bias": np.zeros(1)})
    weight[...] = 7
    assert layer.weight.tolist() == [[1, 1]]
    with pytest.raises(lnb.ShapeError, match=r"weight is \(2, 1\), not \(1, 2\)"):
        layer.load_state_dict({"weight": np.ones((2, 1)), "bias": np.ones(1)})
    assert layer.bias.tolist() == [0]


def test_hooks_of_modules_may_replace_what_they_see():
    layer = nn.ReLU()
    layer.register_forward_hook(lambda module, args, output: output + 1)
    assert layer(np.float32([-1, 1])).tolist() == [1, 2]


# ------------------------------------------------------------------------------------- what was missing besides
def test_unflatten_is_the_inverse_of_flatten():
    assert np.array_equal(nn.Unflatten(-1, (-1, 6))(nn.Flatten(2)(X)).numpy(), X)
    with pytest.raises(lnb.ShapeError, match="Unflatten: 42 elements"):
        nn.Unflatten(-1, (5, 8))(nn.Flatten(2)(X))


def test_sync_batch_norm_is_batch_norm_of_one_process():
    one, two = nn.SyncBatchNorm(4), nn.BatchNorm2d(4)
    np.testing.assert_array_equal(one(X).detach().numpy(), two(X).detach().numpy())
    np.testing.assert_array_equal(one.running_var.numpy(), two.running_var.numpy())
    with pytest.raises(lnb.ShapeError, match=r"SyncBatchNorm: an input of shape \(4,\)"):
        one(np.ones(4, np.float32))


def test_adaptive_softmax_is_a_distribution_whose_targets_it_returns():
    layer = nn.AdaptiveLogSoftmaxWithLoss(6, 12, [3, 7], 2.0)
    x = lnb.tensor(RNG.normal(size=(8, 6)).astype(np.float32), requires_grad=True)
    target = np.array([0, 11, 3, 6, 7, 2, 9, 1])
    everything = layer.log_prob(x).detach().numpy().astype(float)
    np.testing.assert_allclose(np.exp(everything).sum(1), 1, rtol=1e-5)
    output, loss = layer(x, target)
    np.testing.assert_allclose(output.detach().numpy(), everything[np.arange(8), target], rtol=2e-5)
    assert loss.item() == pytest.approx(-everything[np.arange(8), target].mean(), rel=1e-5)
    assert layer.predict(x).tolist() == everything.argmax(1).tolist()
    loss.backward()
    assert x.grad.shape == (8, 6) and all(param.grad is not None for param in layer.parameters())


@pytest.mark.parametrize("target, error, text", [
    ([12], lnb.errors.IndexError, r"target 12 of 12 classes\. Use 0 to 11"),
    ([-1], lnb.errors.IndexError, "target -1 of 12"),
    ([1, 2], lnb.ShapeError, r"target of shape \(2,\) for an input of shape \(1, 6\)"),
    ([1.5], lnb.errors.IndexError, "float64 is no index")], ids=["large", "negative", "count", "float"])
def test_adaptive_softmax_refuses_targets_that_are_no_classes(target, error, text):
    layer = nn.AdaptiveLogSoftmaxWithLoss(6, 12, [3, 7])
    with pytest.raises(error, match=text):
        layer(np.ones((1, 6), np.float32), np.array(target))
    with pytest.raises(lnb.ConfigError, match=r"cutoffs \[7, 3\] of 12 classes"):
        nn.AdaptiveLogSoftmaxWithLoss(6, 12, [7, 3])


def test_gumbel_softmax_draws_from_the_distribution_with_the_gradient_of_the_soft_sample():
    shares = np.float32([0.1, 0.2, 0.7])
    drawn = F.gumbel_softmax(np.log(np.tile(shares, (20000, 1))), hard=True, key=lnb.random.key(1)).numpy()
    assert set(np.unique(drawn)) == {0, 1} and (drawn.sum(1) == 1).all()
    np.testing.assert_allclose(drawn.mean(0), shares, atol=0.012)
    slopes = []
    for hard in (False, True):
        logits = lnb.tensor(np.log(shares), requires_grad=True)
        soft = F.gumbel_softmax(logits, 0.7, hard, key=lnb.random.key(2))
        (soft * np.float32([0, 1, 2])).sum().backward()
        slopes.append(logits.grad.numpy())
    np.testing.assert_allclose(*slopes, rtol=1e-5)
    along = F.gumbel_softmax(np.zeros((4, 3, 2), np.float32), hard=True, dim=1).numpy()
    assert (along.sum(1) == 1).all()
    with pytest.raises(lnb.ConfigError, match="gumbel_softmax: tau is 0"):
        F.gumbel_softmax([0.0], 0)


@pytest.mark.parametrize("name, options", [
    ("relu", ()), ("leaky_relu", (0.2,)), ("elu", (0.5,)), ("celu", (0.5,)), ("selu", ()), ("hardtanh", (-0.5, 0.5)),
    ("threshold", (0.1, 9.0)), ("rrelu", (0.2, 0.4))])
def test_activation_in_place_writes_its_input(name, options):
    x = lnb.tensor(X[0, 0])
    wanted = getattr(F, name)(x, *options).numpy()
    assert getattr(F, f"{name}_")(x, *options) is x and np.array_equal(x.numpy(), wanted)

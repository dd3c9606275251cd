"""Mixed precision. Oracles: PyTorch's table of ops, products of rounded operands in float64, and torch's own scaler."""

import threading

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import amp, nn

F = nn.functional
RNG = np.random.default_rng(4)
HALVES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
DEVICES = ["cpu", "mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)]


def array(*shape, device="cpu", dtype="float32"):
    """Numbers about 1."""
    return lnb.asarray(RNG.normal(size=shape), dtype=dtype, device=device)


X, W, IMAGE, KERNEL, LABELS = array(3, 4), array(5, 4), array(1, 2, 5, 5), array(3, 2, 3, 3), np.array([0, 2, 1])
H = abs(array(3, 4)).astype("float16") + 0.5

# The dtype that each gives inside of a block of float16: as in PyTorch's "CUDA Op-Specific Behavior".
TABLE = {
    "float16": {
        "matmul": lambda: X @ W.T, "matmul of halves": lambda: H @ W.T, "vector": lambda: X @ W[0],
        "einsum": lambda: lnb.einsum("ij,kj->ik", X, W), "linear": lambda: F.linear(X, W),
        "linear of halves": lambda: F.linear(H, W, W[:, 0]),
        "conv2d": lambda: F.conv2d(IMAGE, KERNEL), "conv_transpose2d": lambda: F.conv_transpose2d(IMAGE, KERNEL[:2]),
        "relu": lambda: F.relu(H), "add": lambda: H + H, "max": lambda: H.max(), "abs": lambda: abs(H)},
    "float32": {
        "exp": lambda: lnb.exp(H), "log": lambda: lnb.log(H), "log1p": lambda: lnb.log1p(H), "pow": lambda: H ** 1.5,
        "square": lambda: H ** 2, "sum": lambda: H.sum(), "prod": lambda: H.prod(),
        "softmax": lambda: F.softmax(H, 1), "log_softmax": lambda: F.log_softmax(H, 1),
        "norm": lambda: lnb.linalg.norm(H), "softplus": lambda: F.softplus(H), "rsqrt": lambda: lnb.rsqrt(H),
        "layer_norm": lambda: F.layer_norm(H, (4,)),
        "layer_norm with weight": lambda: F.layer_norm(H, (4,), X[0], X[1]),
        "group_norm": lambda: F.group_norm(H, 2), "cross_entropy": lambda: F.cross_entropy(H, LABELS),
        "nll_loss": lambda: F.nll_loss(F.log_softmax(H, 1), LABELS), "mse_loss": lambda: F.mse_loss(H, H),
        "l1_loss": lambda: F.l1_loss(H, H), "smooth_l1_loss": lambda: F.smooth_l1_loss(H, H),
        "bce_with_logits": lambda: F.binary_cross_entropy_with_logits(H, H), "add": lambda: H + X,
        "kl_div": lambda: F.kl_div(H, H), "relu": lambda: F.relu(X), "concat": lambda: lnb.concatenate([H, X])},
    "float64": {"matmul": lambda: X.astype("float64") @ W.T.astype("float64"),
                "exp": lambda: lnb.exp(X.astype("float64"))},
}
ROWS = [(name, call, dtype) for dtype, calls in TABLE.items() for name, call in calls.items()]


@pytest.mark.parametrize(("name", "call", "dtype"), ROWS, ids=[f"{dtype}-{name}" for name, _, dtype in ROWS])
def test_op_runs_in_the_precision_of_the_table(name, call, dtype):
    with lnb.autocast("cpu", "float16"):
        assert call().dtype == dtype


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("half", list(HALVES))
def test_products_are_those_of_rounded_operands(half, device):
    """Oracle: operands rounded to half precision, multiplied in float64. The result is rounded once."""
    if device == "mlx":
        pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
    x, w = (lnb.asarray(part.numpy(), device=device) for part in (X, W))
    with lnb.autocast(device, half):
        found = x @ w.T
    rounded = [part.numpy().astype(HALVES[half]).astype(float) for part in (X, W)]
    wanted = rounded[0] @ rounded[1].T
    unit = float(ml_dtypes.finfo(HALVES[half]).eps)
    assert str(found.dtype) == half
    assert np.allclose(found.to_host().astype(float), wanted, rtol=unit, atol=unit)


def network():
    """Layers of many kinds."""
    lnb.random.seed(3)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 6),
                         nn.LayerNorm(6), nn.Linear(6, 3))


@pytest.mark.parametrize("device", ["cpu", "mlx"])
def test_networks_train_nearly_as_in_float32(device):
    """Oracle: the same steps in float32. Parameters and gradients stay float32."""
    if device == "mlx":
        pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
    losses = {}
    images = RNG.normal(size=(6, 1, 4, 4)).astype(np.float32)
    for enabled in (False, True):
        model = network().to(device)
        optimizer, scaler = lnb.optim.SGD(model.parameters(), lr=0.2), lnb.GradScaler(enabled=enabled)
        for _ in range(3):
            optimizer.zero_grad()
            with lnb.autocast(device, "float16", enabled):
                logits = model(lnb.asarray(images, device=device))
                loss = F.cross_entropy(logits, lnb.asarray([0, 1, 2, 0, 1, 2], device=device))
            assert logits.dtype == (np.float16 if enabled else np.float32) and loss.dtype == np.float32
            scaler.scale(loss).backward()
            assert all(p.grad.dtype == np.float32 for p in model.parameters())
            scaler.step(optimizer)
            scaler.update()
            losses.setdefault(enabled, []).append(loss.item())
    assert losses[True][-1] < losses[True][0] and losses[False] != losses[True]
    assert np.allclose(losses[True], losses[False], rtol=0.05)


def test_recurrent_layers_compute_in_the_dtype_of_their_weights():
    """Oracle: the layer outside of a block, for the rounded input."""
    layer, x = nn.GRU(4, 3), array(5, 2, 4).astype("float16")
    with lnb.autocast("cpu", "float16"):
        found = layer(x)[0]
    assert found.dtype == np.float32 and np.array_equal(found.detach(), layer(x.astype("float32"))[0].detach())


def test_blocks_nest_and_end_inside():
    with lnb.autocast("cpu", "float16"):
        assert amp.is_autocast_enabled() and amp.is_autocast_enabled("cpu") and not amp.is_autocast_enabled("cuda")
        with lnb.autocast("cpu", enabled=False):
            assert (X @ W.T).dtype == np.float32 and not amp.is_autocast_enabled()
        with lnb.autocast("cpu", "bfloat16"):
            assert (X @ W.T).dtype == ml_dtypes.bfloat16
        with lnb.count_flops():                      # which closes the short roads, and opens them again
            pass
        assert lnb.exp(H).dtype == np.float32 and (X @ W.T).dtype == np.float16
    assert not amp.is_autocast_enabled() and (X @ W.T).dtype == np.float32 and lnb.exp(H).dtype == np.float16


def test_block_ends_after_an_error_and_is_of_its_thread_and_device():
    with pytest.raises(ValueError), lnb.autocast("cpu"):
        raise ValueError
    found = []
    with lnb.autocast("cpu", "float16"):
        thread = threading.Thread(target=lambda: found.append((X @ W.T).dtype))
        thread.start()
        thread.join()
    with lnb.autocast("mlx") if "mlx" in lnb.devices() else lnb.autocast("cpu", enabled=False):
        found.append((X @ W.T).dtype)
    assert found == [np.float32, np.float32] and (X @ W.T).dtype == np.float32


def test_functions_are_decorated_and_may_call_themselves():
    @lnb.autocast("cpu", "float16")
    def power(count):
        return X.T @ X if count == 1 else power(count - 1) @ (X.T @ X)
    assert power(3).dtype == np.float16 and (X.T @ X).dtype == np.float32


def test_weights_are_cast_once_in_a_block_until_they_are_written():
    weight = nn.Parameter(W.numpy())
    seen = []
    for caches in (True, False):
        with lnb.autocast("cpu", "float16", cache_enabled=caches), lnb.count_flops() as counter:
            for _ in range(3):
                F.linear(X, weight)
            with lnb.no_grad():
                weight *= 2
            doubled = F.linear(X, weight)
        seen.append(counter._counts["cast"].calls)
        with lnb.autocast("cpu", "float16"):
            assert np.array_equal(doubled.numpy().astype(float), F.linear(X, weight).numpy().astype(float))
    assert seen == [4 + 2, 4 + 4]                    # of the input each time, and of the weight


def test_gradients_of_cast_weights_reach_them_from_every_use():
    weight = nn.Parameter(W.numpy())
    with lnb.autocast("cpu", "float16"):
        with lnb.no_grad():
            F.linear(X, weight)                       # what is cast here knows of no graph
        loss = (F.linear(X, weight) + F.linear(2 * X, weight)).sum()
    loss.backward()
    assert np.allclose(weight.grad.numpy(), np.tile(3 * X.numpy().sum(0), (5, 1)), rtol=0.05, atol=0.1)


def test_traced_functions_and_checkpoints_run_in_the_precision_of_their_call():
    @lnb.fuse
    def layer(x, w):
        return lnb.tanh(x @ w)
    outside = layer(X, W.T)
    with lnb.autocast("cpu", "float16"):
        inside = layer(X, W.T)
    assert (outside.dtype, inside.dtype, layer(X, W.T).dtype) == (np.float32, np.float16, np.float32)
    weight = nn.Parameter(W.numpy())
    with lnb.autocast("cpu", "float16"):
        loss = lnb.checkpoint(lambda w: F.relu(F.linear(X, w)), weight).sum()
        plain = F.relu(F.linear(X, weight)).sum()
    loss.backward()
    found, weight.grad = weight.grad, None
    plain.backward()
    assert np.array_equal(found.numpy(), weight.grad.numpy())


def test_the_default_is_bfloat16_on_the_cpu():
    with lnb.autocast():
        assert (X @ W.T).dtype == ml_dtypes.bfloat16


def test_wrong_dtypes_and_devices_are_named():
    with pytest.raises(lnb.DTypeError, match=r"autocast: dtype is float32\. Use float16 or bfloat16"):
        lnb.autocast("cpu", "float32")
    with pytest.raises(lnb.errors.LucidError):
        lnb.autocast("tpu")


# --------------------------------------------------------------------------------------------------------- scaling
def scales(library, overflows, **options):
    """The scales, and the weights, of steps of which some have infinite gradients."""
    p = library.tensor([1.0, 2.0], requires_grad=True)
    optimizer, found = library.optim.SGD([p], lr=0.1), []
    scaler = library.GradScaler(**options) if library is lnb else library.amp.GradScaler("cpu", **options)
    for overflow in overflows:
        optimizer.zero_grad()
        scaler.scale((p * p * (float("inf") if overflow else 1.0)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append((scaler.get_scale(), p.detach().tolist()))
    return found, scaler.state_dict()


OVERFLOWS = [False, True, False, False, False, True, True, False, False]
CHOICES = [dict(), dict(init_scale=8.0, growth_interval=2), dict(init_scale=4.0, growth_factor=3.0, backoff_factor=0.25,
                                                                 growth_interval=1), dict(enabled=False)]


@pytest.mark.parametrize("options", CHOICES, ids=str)
def test_scaler_scales_as_that_of_torch(options):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    overflows = [False] * 5 if options.get("enabled") is False else OVERFLOWS
    (ours, mine), (theirs, other) = scales(lnb, overflows, **options), scales(torch, overflows, **options)
    assert [scale for scale, _ in ours] == [scale for scale, _ in theirs] and mine == other
    assert np.allclose([p for _, p in ours], [p for _, p in theirs], rtol=1e-6)


def test_scaler_leaves_infinite_steps_out_and_grows():
    """Oracle: counted by hand."""
    found, state = scales(lnb, OVERFLOWS, init_scale=8.0, growth_interval=2)
    assert [scale for scale, _ in found] == [8, 4, 4, 8, 8, 4, 2, 2, 4]
    taken = np.cumsum([not overflow for overflow in OVERFLOWS])
    assert np.allclose([p for _, p in found], [[0.8 ** n, 2 * 0.8 ** n] for n in taken], rtol=1e-6)
    assert state == dict(scale=4.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2, _growth_tracker=0)


def test_gradients_are_scaled_down_before_they_are_clipped():
    p = lnb.nn.Parameter([3.0])
    optimizer, scaler = lnb.optim.SGD([p], lr=1.0), lnb.GradScaler(init_scale=256.0)
    scaler.scale([(p * p).sum()])[0].backward()
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [6.0]
    with pytest.raises(lnb.GradError, match=r"GradScaler.unscale_: the gradients have been"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(lnb.GradError, match=r"GradScaler.step: this optimizer has stepped"):
        scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [-3.0]
    with pytest.raises(lnb.GradError, match=r"GradScaler.update: no gradients"):
        scaler.update()
    scaler.update(2.0)
    assert scaler.get_scale() == 2.0


def test_scaler_refuses_halves_closures_settings_and_foreign_states():
    p = lnb.nn.Parameter([3.0], dtype="float16")
    p.grad = lnb.ones(1, dtype="float16")
    optimizer, scaler = lnb.optim.SGD([p]), lnb.GradScaler()
    with pytest.raises(lnb.DTypeError, match=r"GradScaler.unscale_: gradients are float16"):
        scaler.step(optimizer)
    with pytest.raises(lnb.ConfigError, match=r"GradScaler.step: a closure"):
        scaler.step(optimizer, lambda: 0)
    for options in (dict(init_scale=0), dict(growth_factor=1), dict(backoff_factor=1), dict(growth_interval=0)):
        with pytest.raises(lnb.ConfigError, match=f"GradScaler: {next(iter(options))} is"):
            lnb.GradScaler(**options)
    with pytest.raises(lnb.errors.StateError, match=r"GradScaler.load_state_dict"):
        scaler.load_state_dict({"scale": 1.0})
    other = lnb.GradScaler(init_scale=2.0)
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()

"""RNN, LSTM, GRU and their cells. Oracles: the definitions step by step in NumPy; torch's layers where installed."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.nn.utils import rnn
from lucid_nb.testing import check_grad

from .recurrences import layers, step

RNG = np.random.default_rng(3)
KINDS = [("RNN", {}), ("RNN", {"nonlinearity": "relu"}), ("LSTM", {}), ("GRU", {}), ("LSTM", {"proj_size": 2})]
OPTIONS = [{}, {"num_layers": 2}, {"bidirectional": True}, {"num_layers": 2, "bidirectional": True,
                                                            "batch_first": True},
           {"bias": False}, {"batch_first": True}]
LENGTHS = [4, 2, 5, 1]


def make(kind, options, inputs=3, units=5, dtype="float64"):
    """A layer, its first states, and how many layers and directions."""
    layer = getattr(nn, kind)(inputs, units, dtype=dtype, **options)
    count = layer.num_layers * (1 + layer.bidirectional)
    return layer, count, [layer.proj_size or units, units]


def pair_of(layer, h, c):
    return (h, c) if layer.mode == "LSTM" else h


def flat(result):
    """Results of a layer as a list: outputs, then states."""
    out, last = result
    return [out, *(last if isinstance(last, tuple) else [last])]


def torch_twin(layer, kind, options):
    """torch's layer with the same weights, through the keys of its state_dict."""
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    twin = getattr(torch.nn, kind)(layer.input_size, layer.hidden_size, dtype=torch.float64, **options)
    assert list(twin.state_dict()) == list(layer.state_dict())
    twin.load_state_dict({key: torch.tensor(value.numpy()) for key, value in layer.state_dict().items()})
    return torch, twin


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("kind", "extra"), KINDS, ids=str)
@pytest.mark.parametrize("given", [False, True])
def test_layer_follows_its_definition(kind, extra, options, given):
    layer, count, sizes = make(kind, options | extra)
    x = RNG.normal(size=(6, 4, 3))
    h, c = (RNG.normal(size=(count, 4, size)) * given for size in sizes)
    hx = pair_of(layer, lnb.asarray(h), lnb.asarray(c)) if given else None
    found = flat(layer(np.ascontiguousarray(x.swapaxes(0, 1)) if layer.batch_first else x, hx))
    for row in range(4):
        expected = layers(layer, x[:, row], h[:, row], c[:, row])
        out = found[0].numpy()[row] if layer.batch_first else found[0].numpy()[:, row]
        assert np.allclose(out, expected[0], rtol=1e-12, atol=1e-14)
        for state, wanted in zip(found[1:], expected[1:]):
            assert np.allclose(state.numpy()[:, row], wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("options", OPTIONS[:5], ids=str)
@pytest.mark.parametrize(("kind", "extra"), KINDS, ids=str)
def test_packed_sequences_stop_at_their_own_end(kind, extra, options):
    layer, count, sizes = make(kind, options | extra)
    sequences = [RNG.normal(size=(length, 3)) for length in LENGTHS]
    h, c = (RNG.normal(size=(count, 4, size)) for size in sizes)
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    found, *states = flat(layer(packed, pair_of(layer, lnb.asarray(h), lnb.asarray(c))))
    for row, (sequence, out) in enumerate(zip(sequences, rnn.unpack_sequence(found))):
        expected = layers(layer, sequence, h[:, row], c[:, row])
        assert np.allclose(out.numpy(), expected[0], rtol=1e-12, atol=1e-14)
        for state, wanted in zip(states, expected[1:]):
            assert np.allclose(state.numpy()[:, row], wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("kind", "extra"), KINDS, ids=str)
def test_layer_and_its_gradients_equal_torch(kind, extra, options):
    options = options | extra
    layer, count, sizes = make(kind, options)
    torch, twin = torch_twin(layer, kind, options)
    arrays = [RNG.normal(size=(6, 4, 3)), *(RNG.normal(size=(count, 4, size)) for size in sizes)]
    ours = [lnb.tensor(array, requires_grad=True) for array in arrays]
    theirs = [torch.tensor(array, requires_grad=True) for array in arrays]
    if layer.batch_first:
        arrays[0] = np.ascontiguousarray(arrays[0].swapaxes(0, 1))
        ours[0], theirs[0] = lnb.tensor(arrays[0], requires_grad=True), torch.tensor(arrays[0], requires_grad=True)
    results, expected = (flat(m(xs[0], pair_of(layer, *xs[1:]))) for m, xs in ((layer, ours), (twin, theirs)))
    loss, wanted = 0.0, 0.0
    for result, other in zip(results, expected):
        assert np.allclose(result.detach().numpy(), other.detach().numpy(), rtol=1e-11, atol=1e-13)
        seed = RNG.normal(size=result.shape)
        loss, wanted = loss + (result * lnb.asarray(seed)).sum(), wanted + (other * torch.tensor(seed)).sum()
    loss.backward(), wanted.backward()
    for x, y in [*zip(ours[:1 + len(results[1:])], theirs), *zip(layer.parameters(), twin.parameters())]:
        assert np.allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("kind", "extra"), KINDS, ids=str)
def test_sequence_without_batch_equals_a_batch_of_one(kind, extra):
    for first in (False, True):
        layer, count, sizes = make(kind, {"num_layers": 2, "batch_first": first} | extra)
        x, (h, c) = RNG.normal(size=(6, 3)), (RNG.normal(size=(count, size)) for size in sizes)
        single = flat(layer(x, pair_of(layer, h, c)))
        batch = flat(layer(x[None] if first else x[:, None], pair_of(layer, h[:, None], c[:, None])))
        for one, many in zip(single, batch):
            assert np.array_equal(one.numpy(), many.numpy().reshape(one.shape))


@pytest.mark.parametrize(("kind", "extra"), KINDS, ids=str)
def test_layer_has_second_derivatives(kind, extra):
    layer, count, sizes = make(kind, {"bidirectional": True} | extra, inputs=2, units=3)
    names = [name for name, _ in layer.named_parameters()]

    def run(x, h, c, *weights):
        for name, weight in zip(names, weights):
            del layer._parameters[name]
            layer.__dict__[name] = weight
        found = flat(layer(x, pair_of(layer, h, c)))
        for name, kept in zip(names, params):
            layer.__dict__.pop(name)
            layer._parameters[name] = kept
        return tuple(found)
    params = list(layer.parameters())
    check_grad(run, RNG.normal(size=(3, 2, 2)), *(RNG.normal(size=(count, 2, size)) for size in sizes),
               *[param.detach() for param in params])


@pytest.mark.parametrize(("kind", "extra"), KINDS[:4], ids=str)
def test_cell_is_one_step(kind, extra):
    cell = getattr(nn, f"{kind}Cell")(3, 5, dtype="float64", **extra)
    state = [value.numpy() for value in cell.state_dict().values()]
    assert list(cell.state_dict()) == ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    x, h, c = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 5)), RNG.normal(size=(4, 5))
    expected = step(cell.mode, x, h, c, state)
    found = cell(x, (h, c) if kind == "LSTM" else h)
    for one, other in zip(found if kind == "LSTM" else [found], expected):
        assert np.allclose(one.numpy(), other, rtol=1e-12, atol=1e-14)
    single = cell(x[0])
    zeros = step(cell.mode, x[0], np.zeros(5), np.zeros(5), state)[0]
    assert np.allclose((single[0] if kind == "LSTM" else single).numpy(), zeros, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("kind", "extra"), KINDS[:4], ids=str)
def test_cell_has_second_derivatives(kind, extra):
    cell = getattr(nn, f"{kind}Cell")(2, 3, dtype="float64", **extra)
    args = [RNG.normal(size=(2, 2)), *[RNG.normal(size=(2, 3))] * (2 if kind == "LSTM" else 1)]
    check_grad(lambda x, *states: cell(x, states if kind == "LSTM" else states[0]), *args)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_float32_errs_at_most_twice_as_much_as_torch(kind):
    layer = getattr(nn, kind)(33, 65)
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    twin = getattr(torch.nn, kind)(33, 65)
    twin.load_state_dict({key: torch.tensor(value.numpy()) for key, value in layer.state_dict().items()})
    x = RNG.normal(size=(20, 7, 33)).astype(np.float32)
    exact = np.stack([layers(layer, x[:, row].astype(float), np.zeros((1, 65)), np.zeros((1, 65)))[0]
                      for row in range(7)], 1)
    ours, theirs = layer(x)[0].detach().numpy(), twin(torch.tensor(x))[0].detach().numpy()
    assert np.abs(ours - exact).max() <= 2 * np.abs(theirs - exact).max() + 1e-7


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_float32(dtype):
    layer = nn.LSTM(3, 5, dtype=dtype)
    wide = nn.LSTM(3, 5)
    wide.load_state_dict(layer.state_dict())
    x = lnb.asarray(RNG.normal(size=(6, 2, 3))).astype(dtype)
    out, (h, c) = layer(x)
    expected = wide(x.astype("float32"))[0].astype(dtype)
    assert out.dtype == h.dtype == c.dtype == x.dtype and bool((out == expected).all())


def test_dropout_falls_between_layers_in_training_only():
    layer = nn.LSTM(3, 4, num_layers=2, dropout=1.0, dtype="float64")
    x = RNG.normal(size=(5, 2, 3))
    zeros = layers(layer, x[:, 0], np.zeros((2, 4)), np.zeros((2, 4)))[0]
    trained, evaluated = layer(x)[0].numpy()[:, 0], layer.eval()(x)[0].numpy()[:, 0]
    second = nn.LSTM(4, 4, dtype="float64")
    second.load_state_dict({key.replace("l1", "l0"): value for key, value in layer.state_dict().items() if "l1" in key})
    assert np.allclose(evaluated, zeros, rtol=1e-12)
    assert np.allclose(trained, second(np.zeros((5, 2, 4)))[0].numpy()[:, 0], rtol=1e-12)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_layer_starts_within_its_bound_and_shows_its_sizes(kind):
    layer = getattr(nn, kind)(30, 100, num_layers=2, bidirectional=True)
    for param in layer.parameters():
        values = param.detach().numpy()
        assert np.abs(values).max() <= 0.1 + 1e-7 and values.std() == pytest.approx(0.1 / np.sqrt(3), rel=0.25)
    assert repr(layer) == f"{kind}(30, 100, num_layers=2, bidirectional=True)"
    assert [len(names) for names in layer.all_weights] == [4] * 4


SPECIAL = np.array([0, -0.0, np.nan, 1, -1, np.inf, -np.inf])


@pytest.mark.parametrize("how", ["fused", "recorded", "cell"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rectifier_has_the_slopes_of_relu_at_its_joint_and_at_nan(dtype, how):
    layer = (nn.RNNCell if how == "cell" else nn.RNN)(1, 1, bias=False, nonlinearity="relu", dtype=dtype)
    layer.load_state_dict({key: np.ones((1, 1), dtype) for key in layer.state_dict()})
    x = lnb.tensor(SPECIAL.astype(dtype).reshape(1, 7, 1), requires_grad=True)
    out = layer(x[0]) if how == "cell" else layer(x)[0]
    out.sum().backward(create_graph=how == "recorded")
    assert np.array_equal(out.detach().numpy().ravel(), np.maximum(SPECIAL, 0), equal_nan=True)
    assert x.grad.detach().numpy().ravel().tolist() == [0, 0, 1, 1, 0, 1, 0]


def test_empty_batch_gives_empty_outputs():
    out, (h, c) = nn.LSTM(3, 5)(np.zeros((4, 0, 3), np.float32))
    assert out.shape == (4, 0, 5) and h.shape == c.shape == (1, 0, 5)


@pytest.mark.parametrize(("call", "text"), [
    (lambda: nn.LSTM(3, 5)(np.zeros((4, 2, 2), np.float32)), "LSTM: an input of shape"),
    (lambda: nn.LSTM(3, 5)(np.zeros((3,), np.float32)), "LSTM: an input of shape"),
    (lambda: nn.GRU(3, 5)(np.zeros((0, 2, 3), np.float32)), "GRU: the input of shape .* has no steps"),
    (lambda: nn.GRU(3, 5)(np.zeros((4, 2, 3), np.float32), np.zeros((2, 2, 5), np.float32)), "GRU: hx has shapes"),
    (lambda: nn.LSTM(3, 5)(np.zeros((4, 2, 3), np.float32), np.zeros((1, 2, 5), np.float32)), "LSTM: hx has shapes"),
    (lambda: nn.RNN(3, 0), "RNN: hidden_size is 0"), (lambda: nn.RNN(3, 5, 0), "RNN: num_layers is 0"),
    (lambda: nn.LSTM(3, 5, proj_size=5), "LSTM: proj_size is 5"),
    (lambda: nn.RNN(3, 5, nonlinearity="elu"), "RNN: nonlinearity is"),
    (lambda: nn.RNN(3, 5, dropout=2), "RNN: dropout is 2"), (lambda: nn.RNNBase("X", 3, 5), "RNNBase: mode 'X'"),
    (lambda: nn.LSTMCell(3, 5)(np.zeros((2, 4), np.float32)), "LSTMCell: an input of shape"),
    (lambda: nn.GRUCell(3, 5)(np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)), "GRUCell: hx has shapes"),
])
def test_wrong_sizes_are_refused_before_any_work(call, text):
    with pytest.raises((lnb.errors.ShapeError, lnb.errors.ConfigError), match=text):
        call()


@pytest.mark.parametrize("device", ["mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)])
@pytest.mark.parametrize(("kind", "extra"), KINDS[1:4], ids=str)
def test_devices_without_the_fused_kernel_give_the_same(kind, extra, device):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    layer = getattr(nn, kind)(2, 3, **extra)
    x = RNG.normal(size=(3, 2, 2)).astype(np.float32)
    found = []
    for place in ("cpu", device):
        layer.to(place).zero_grad()
        out = layer(lnb.asarray(x).to(place))[0]
        out.sum().backward()
        found.append([out.detach().to("cpu").numpy(), *[p.grad.to("cpu").numpy() for p in layer.parameters()]])
    for ours, other in zip(*found):
        assert np.allclose(ours, other, rtol=1e-4, atol=1e-5)

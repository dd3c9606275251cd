"""The transformer: PyTorch's with its own weights where it is installed; masks, devices, training."""

import copy
import warnings

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors, nn
from lucid_nb.testing import check_grad

from .against_torch import assert_layers_agree

RNG = np.random.default_rng(3)
LENGTH, MEMORY, BATCH, SIZE = 5, 7, 3, 8
CAUSAL = np.where(np.tri(LENGTH, dtype=bool), 0, -np.inf).astype(np.float32)
PADDING = np.zeros((BATCH, MEMORY), bool)
PADDING[1, 4:] = True


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def sequence(length, batch_first):
    return numbers(BATCH, length, SIZE) if batch_first else numbers(length, BATCH, SIZE)


def both(name, *args, **options):
    """Our layer and PyTorch's."""
    torch = pytest.importorskip("torch")
    found = []
    for space in (nn, torch.nn):
        if name.endswith("coder"):
            layer = getattr(space, f"Transformer{name.title()}Layer")(SIZE, 2, 16, **options)
            found.append(getattr(space, f"Transformer{name.title()}")(layer, 2, space.LayerNorm(SIZE)))
        else:
            found.append(getattr(space, name)(SIZE, 2, *args, **options))
    return found


@pytest.fixture(autouse=True)
def quiet():
    """PyTorch tells of roads that it does not take."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "enable_nested_tensor")
        yield


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_layers_as_in_pytorch(batch_first, norm_first, activation):
    options = {"batch_first": batch_first, "norm_first": norm_first, "activation": activation, "dropout": 0.0}
    x, memory = sequence(LENGTH, batch_first), sequence(MEMORY, batch_first)
    assert_layers_agree(*both("TransformerEncoderLayer", 16, **options), [memory], {"src_key_padding_mask": PADDING})
    assert_layers_agree(*both("TransformerEncoderLayer", 16, **options), [x], {"src_mask": CAUSAL, "is_causal": True})
    assert_layers_agree(*both("TransformerDecoderLayer", 16, **options), [x, memory],
                        {"tgt_mask": CAUSAL, "memory_key_padding_mask": PADDING})
    assert_layers_agree(*both("TransformerDecoderLayer", 16, bias=False, **options), [x, memory],
                        {"tgt_mask": CAUSAL, "tgt_is_causal": True})


@pytest.mark.parametrize("batch_first", [False, True])
def test_stacks_as_in_pytorch(batch_first):
    options = {"batch_first": batch_first, "dropout": 0.0}
    x, memory = sequence(LENGTH, batch_first), sequence(MEMORY, batch_first)
    assert_layers_agree(*both("encoder", **options), [x], {"mask": CAUSAL}, 2e-5)
    assert_layers_agree(*both("decoder", **options), [x, memory], {"tgt_mask": CAUSAL}, 2e-5)
    assert_layers_agree(*both("Transformer", 2, 2, 16, **options), [memory, x],
                        {"tgt_mask": CAUSAL, "src_key_padding_mask": PADDING, "memory_key_padding_mask": PADDING}, 2e-5)


def test_sequence_without_batch():
    model = nn.Transformer(SIZE, 2, 1, 1, 16, dropout=0.0)
    src, tgt = numbers(MEMORY, SIZE), numbers(LENGTH, SIZE)
    alone = model(src, tgt, tgt_mask=CAUSAL).detach().numpy()
    np.testing.assert_allclose(alone, model(src[:, None], tgt[:, None], tgt_mask=CAUSAL).detach().numpy()[:, 0],
                               rtol=1e-5, atol=1e-5)


def test_causal_mask_hides_what_comes_later():
    layer = nn.TransformerEncoderLayer(SIZE, 2, 16, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2)
    x = numbers(1, LENGTH, SIZE)
    changed = x.copy()
    changed[:, -1] += 1
    mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
    np.testing.assert_array_equal(mask.numpy(), CAUSAL)
    for given in (mask, np.isinf(CAUSAL)):
        one, other = (encoder(y, given).detach().numpy() for y in (x, changed))
        np.testing.assert_array_equal(one[:, :-1], other[:, :-1])
        assert not np.array_equal(one[:, -1], other[:, -1])


def test_stacked_layers_have_weights_of_their_own():
    layer = nn.TransformerEncoderLayer(SIZE, 2, 16)
    encoder = nn.TransformerEncoder(layer, 2)
    first, second = (dict(part.named_parameters()) for part in encoder.layers)
    assert all(first[name] is not second[name] for name in first)
    assert sum(1 for _ in encoder.parameters()) == 2 * sum(1 for _ in layer.parameters())
    twin = copy.deepcopy(encoder)
    assert all(a is not b and np.array_equal(a.detach().numpy(), b.detach().numpy())
               for a, b in zip(encoder.parameters(), twin.parameters()))


def test_layer_learns_to_repeat_what_came_before():
    lnb.random.seed(1)
    layer = nn.TransformerEncoderLayer(SIZE, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
    optimizer = lnb.optim.Adam(layer.parameters(), lr=0.01)
    x = numbers(4, LENGTH, SIZE)
    target, losses = lnb.tensor(np.roll(x, 1, axis=1)), []
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(layer(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_gradients_to_second_order():
    layer = nn.TransformerEncoderLayer(4, 2, 3, dropout=0.0, activation="gelu", batch_first=True).double()
    check_grad(layer, RNG.standard_normal((1, 3, 4)))


def test_dropout_acts_in_training_only():
    layer = nn.TransformerDecoderLayer(SIZE, 2, 16, dropout=0.5)
    x, memory = sequence(LENGTH, False), sequence(MEMORY, False)
    assert not np.array_equal(layer(x, memory).detach().numpy(), layer(x, memory).detach().numpy())
    layer.eval()
    np.testing.assert_array_equal(layer(x, memory).detach().numpy(), layer(x, memory).detach().numpy())


def test_other_devices_give_the_same():
    if "mlx" not in lnb.devices():
        pytest.skip("mlx is not usable here")
    layer, x = nn.TransformerEncoderLayer(SIZE, 2, 16, dropout=0.0), sequence(LENGTH, False)
    expected = layer(x, CAUSAL).detach().numpy()
    found = layer.to("mlx")(lnb.asarray(x, device="mlx"), lnb.asarray(CAUSAL, device="mlx"))
    np.testing.assert_allclose(found.detach().to("cpu").numpy(), expected, rtol=1e-4, atol=1e-5)


def test_wrong_arguments_are_refused():
    with pytest.raises(errors.ConfigError, match="activation 'swish'"):
        nn.TransformerEncoderLayer(SIZE, 2, activation="swish")
    model = nn.Transformer(SIZE, 2, 1, 1, 16)
    for src, tgt in ((numbers(3, 2, 4), numbers(3, 2, SIZE)), (numbers(3, SIZE), numbers(3, 2, SIZE)),
                     (numbers(3, 1, SIZE), numbers(3, 2, SIZE))):
        with pytest.raises(errors.ShapeError, match="8 features"):
            model(src, tgt)

"""Shuffles of pixels and channels: PyTorch where it is installed, each other, finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, nn
from lucid_nb.nn import functional as F
from lucid_nb.testing import check_grad

small = st.integers(1, 4)


@given(lead=st.lists(st.integers(0, 3), max_size=2), channels=small, height=small, width=small, factor=small)
def test_pixels_go_where_torch_puts_them_and_back(lead, channels, height, width, factor):
    x = np.arange(np.prod([*lead, channels * factor ** 2, height, width], dtype=int), dtype=np.float64).reshape(
        *lead, channels * factor ** 2, height, width)
    large = F.pixel_shuffle(x, factor)
    assert large.shape == (*lead, channels, height * factor, width * factor)
    assert np.array_equal(F.pixel_unshuffle(large, factor).numpy(), x)
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    if x.size:
        assert np.array_equal(large.numpy(), torch.nn.functional.pixel_shuffle(torch.tensor(x), factor).numpy())


@given(batch=st.integers(0, 3), groups=small, inside=small, rest=st.lists(small, min_size=1, max_size=3))
def test_channels_go_where_torch_puts_them(batch, groups, inside, rest):
    x = np.random.default_rng(0).random((batch, groups * inside, *rest))
    found = F.channel_shuffle(x, groups).numpy()
    wanted = x.reshape(batch, groups, inside, *rest).swapaxes(1, 2).reshape(x.shape)
    assert np.array_equal(found, wanted)
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    if batch:
        assert np.array_equal(found, torch.nn.functional.channel_shuffle(torch.tensor(x), groups).numpy())


def test_shuffles_have_gradients_to_second_order():
    x = np.random.default_rng(1).random((1, 4, 2, 2))
    for call in (lambda x: F.pixel_shuffle(x, 2) ** 3, lambda x: F.pixel_unshuffle(x, 2) ** 3,
                 lambda x: F.channel_shuffle(x, 2) ** 3):
        check_grad(call, x)


@pytest.mark.parametrize(("layer", "options"), [("PixelShuffle", (2,)), ("PixelUnshuffle", (2,)),
                                                ("ChannelShuffle", (4,))])
def test_layers_call_their_functions_and_show_themselves_as_torch(layer, options):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = getattr(nn, layer)(*options), getattr(torch.nn, layer)(*options)
    x = np.random.default_rng(2).random((2, 8, 4, 6))
    assert repr(ours) == repr(theirs)
    assert np.array_equal(ours(x).numpy(), theirs(torch.tensor(x)).numpy())


@pytest.mark.parametrize(("call", "text"), [
    (lambda: F.pixel_shuffle(np.ones((6, 2, 2)), 2), "6 channels for a factor of 2.*multiple of 4"),
    (lambda: F.pixel_shuffle(np.ones((4, 2)), 2), r"shape \(4, 2\)"),
    (lambda: F.pixel_shuffle(np.ones((4, 2, 2)), 0), "factor of 0"),
    (lambda: F.pixel_unshuffle(np.ones((1, 3, 4)), 2), "3 x 4 pixels for a factor of 2"),
    (lambda: F.channel_shuffle(np.ones((1, 4, 2)), 3), "in 3 groups"),
    (lambda: F.channel_shuffle(np.ones((4, 4)), 2), r"shape \(4, 4\)"),
    (lambda: nn.PixelShuffle(0), "upscale_factor is 0"), (lambda: nn.ChannelShuffle(-1), "groups is -1")])
def test_wrong_sizes_are_refused(call, text):
    with pytest.raises(errors.ShapeError, match=text):
        call()


@pytest.mark.parametrize("device", ["mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)])
def test_other_devices_shuffle_alike(device):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    x = np.arange(16, dtype=np.float32).reshape(1, 4, 2, 2)
    for call in (lambda x: F.pixel_shuffle(x, 2), lambda x: F.pixel_unshuffle(x, 2),
                 lambda x: F.channel_shuffle(x, 2)):
        assert np.array_equal(call(lnb.asarray(x, device=device)).to("cpu").numpy(), call(x).numpy())

"""Transforms. Oracles: Pillow's own images, SciPy's filters, colorsys, and arrays cut by hand."""

import colorsys
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

import lucid_nb as lnb
from lucid_nb.data import DataLoader
from lucid_nb.data import transforms as T
from lucid_nb.data.transforms import functional as F
from lucid_nb.testing import check_grad

from . import cases

Image = pytest.importorskip("PIL.Image", reason="images are Pillow's")

RNG = np.random.default_rng(8)
BYTES = RNG.integers(0, 256, (3, 11, 13), np.uint8)
FLOATS = RNG.random((3, 11, 13), np.float32)
PHOTO = Image.fromarray(BYTES.transpose(1, 2, 0))


def planes_of(image):
    """An image of Pillow's as (channels, height, width)."""
    return np.atleast_3d(np.array(image)).transpose(2, 0, 1)


def by_pillow(planes, function):
    """Each channel of floats as an image of Pillow's of mode F."""
    return np.stack([np.array(function(Image.fromarray(plane))) for plane in planes])


# --------------------------------------------------------------------------------------- tensors and arrays
def test_to_tensor_of_images_arrays_and_tensors():
    """lucid's ToTensor fails on any array."""
    expected = BYTES / np.float32(255)
    for image in (PHOTO, BYTES.transpose(1, 2, 0), lnb.asarray(BYTES)):
        found = T.ToTensor()(image)
        assert found.dtype == np.float32 and np.array_equal(found.numpy(), expected)
    assert np.array_equal(T.ToTensor()(PHOTO.convert("L")).numpy()[0] * 255, np.array(PHOTO.convert("L")))
    assert T.ToTensor()(np.ones((2, 3))).shape == (1, 2, 3)
    found = T.ToTensor(requires_grad=True, dtype=lnb.float64)(PHOTO)
    assert found.requires_grad and found.dtype == np.float64


@pytest.mark.parametrize("mode", ["RGB", "L", "I", "F", "1", "RGBA"])
def test_to_pil_image_undoes_to_tensor(mode):
    image = PHOTO.convert("L").convert(mode) if mode in "1IF" else PHOTO.convert(mode)
    again = T.ToPILImage(None if mode != "F" else "F")(T.ToTensor()(image))
    expected = image.convert("L") if mode == "1" else image
    assert again.mode == expected.mode and np.array_equal(np.array(again), np.array(expected))


def test_normalize_takes_values_for_each_channel():
    """lucid's Normalize fails on images of 3 channels."""
    mean, std = np.float32([0.1, 0.2, 0.3]), np.float32([1, 2, 4])
    expected = (FLOATS - mean[:, None, None]) / std[:, None, None]
    for image in (FLOATS, lnb.asarray(FLOATS), lnb.asarray(FLOATS[None])):
        found = T.Normalize(mean, std)(image)
        assert type(found) is type(image) and np.array_equal(np.squeeze(np.asarray(found)), expected)
    assert np.array_equal(T.Normalize(0.5, 0.5)(FLOATS[0]), (FLOATS[0] - np.float32(0.5)) / np.float32(0.5))
    own = FLOATS.copy()
    assert T.Normalize(mean, std, inplace=True)(own) is own and np.array_equal(own, expected)
    x = lnb.tensor(FLOATS, requires_grad=True)
    T.Normalize(mean, std)(x).sum().backward()
    assert np.array_equal(x.grad.numpy(), np.broadcast_to(1 / std[:, None, None], FLOATS.shape))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "box", "hamming", "lanczos"])
@pytest.mark.parametrize("size", [(5, 7), (23, 30), (11, 6)], ids=str)
def test_resize_is_pillows(mode, size):
    how = getattr(Image.Resampling, mode.upper())
    expected = by_pillow(FLOATS, lambda image: image.resize(size[::-1], how))
    np.testing.assert_allclose(F.resize(FLOATS, size, mode), expected, rtol=1e-5, atol=1e-6)
    found = planes_of(F.resize(PHOTO, size, mode))
    assert np.array_equal(found, planes_of(PHOTO.resize(size[::-1], how)))
    if mode not in ("bicubic", "lanczos"):                 # of which Pillow clips what overshoots after each axis
        assert abs(F.resize(BYTES, size, mode).astype(int) - found).max() <= 1


def test_resize_without_antialias_interpolates():
    """Oracle: NumPy's interpolation between the middles of pixels."""
    row = FLOATS[0, 0]
    places = np.clip((np.arange(5) + 0.5) * 13 / 5 - 0.5, 0, 12)
    found = F.resize(row[None], (1, 5), antialias=False)
    np.testing.assert_allclose(found[0], np.interp(places, np.arange(13), row), rtol=1e-6)
    nearest = F.resize(BYTES, (22, 26), "nearest")
    assert np.array_equal(nearest, BYTES.repeat(2, 1).repeat(2, 2))


@pytest.mark.parametrize(("size", "max_size", "expected"), [(22, None, (22, 26)), ([5], None, (5, 5)),
                                                            (22, 24, (20, 24)), ((4, 4), None, (4, 4))], ids=str)
def test_resize_keeps_proportions(size, max_size, expected):
    for image in (BYTES, BYTES.transpose(0, 2, 1)):
        wanted = expected if image is BYTES else expected[::-1]
        assert T.Resize(size, max_size=max_size)(image).shape[1:] == wanted
        assert T.Resize(size, max_size=max_size)(T.ToPILImage()(lnb.asarray(image))).size == wanted[::-1]


@pytest.mark.parametrize("angle", [13, 90, 180, 200.5])
@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_rotate_is_pillows_inside(angle, expand, mode):
    """At the rim torchvision, which counts, weighs otherwise than Pillow."""
    found = F.rotate(FLOATS, angle, mode, expand)
    expected = by_pillow(FLOATS, lambda image: image.rotate(angle, getattr(Image.Resampling, mode.upper()), expand))
    rows, cols = min(found.shape[1], expected.shape[1]), min(found.shape[2], expected.shape[2])
    assert abs(found.shape[1] - expected.shape[1]) <= 1 and abs(found.shape[2] - expected.shape[2]) <= 1
    if found.shape == expected.shape:
        inside = (F.rotate(np.ones_like(FLOATS), angle, "bilinear", expand) > 0.999) & (expected != 0)
        assert inside.sum() > rows * cols and (abs(found - expected)[inside] < 1e-5).mean() > 0.98
    assert F.rotate(PHOTO, angle, mode, expand).size == PHOTO.rotate(angle, expand=expand).size


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_rotate_by_quarters_is_numpys(angle):
    square = BYTES[:, :11, :11]
    assert np.array_equal(F.rotate(square, angle), np.rot90(square, angle // 90, (1, 2)))
    assert np.array_equal(F.rotate(square, angle, "bilinear"), np.rot90(square, angle // 90, (1, 2)))
    assert np.array_equal(F.rotate(BYTES, angle, expand=True), np.rot90(BYTES, angle // 90, (1, 2)))
    filled = F.rotate(square, 45, fill=[1, 2, 3])
    assert filled[:, 0, 0].tolist() == [1, 2, 3]


def test_pad_and_crops_are_numpys():
    sides = ((0, 0), (2, 0), (1, 3))                       # left 1, top 2, right 3, bottom 0
    for mode in ("constant", "edge", "reflect", "symmetric"):
        expected = np.pad(BYTES, sides, mode)
        assert np.array_equal(F.pad(BYTES, (1, 2, 3, 0), 0, mode), expected)
        assert np.array_equal(planes_of(F.pad(PHOTO, (1, 2, 3, 0), 0, mode)), expected)
    filled = F.pad(BYTES, 1, (7, 8, 9))
    assert filled[:, 0, 0].tolist() == [7, 8, 9] and np.array_equal(filled[:, 1:-1, 1:-1], BYTES)
    assert np.array_equal(planes_of(F.pad(PHOTO, 1, (7, 8, 9))), filled)
    assert np.array_equal(F.crop(BYTES, 2, 3, 4, 5), BYTES[:, 2:6, 3:8])
    assert np.array_equal(F.crop(BYTES, -1, 10, 4, 5), np.pad(BYTES[:, :3, 10:], ((0, 0), (1, 0), (0, 2))))
    assert np.array_equal(F.crop(BYTES, 20, 3, 2, 2), np.zeros((3, 2, 2)))
    for size in ((6, 5), (11, 4), (14, 17)):
        assert np.array_equal(F.center_crop(BYTES, size), planes_of(F.center_crop(PHOTO, size)))
    assert np.array_equal(T.CenterCrop(5)(BYTES), BYTES[:, 3:8, 4:9])
    assert np.array_equal(F.hflip(BYTES), BYTES[..., ::-1]) and np.array_equal(F.vflip(BYTES), BYTES[:, ::-1])
    assert np.array_equal(planes_of(F.hflip(PHOTO)), BYTES[..., ::-1])


@pytest.mark.parametrize("name", ["adjust_brightness", "adjust_contrast", "adjust_saturation"])
@pytest.mark.parametrize("factor", [0, 0.5, 1, 1.8])
def test_colors_are_pillows(name, factor):
    adjust = getattr(F, name)
    expected = planes_of(adjust(PHOTO, factor))
    assert abs(adjust(BYTES, factor).astype(int) - expected).max() <= 2
    assert abs(adjust(BYTES / np.float32(255), factor) * 255 - expected).max() <= 2


@pytest.mark.parametrize("factor", [-0.5, -0.2, 0, 0.35])
def test_hue_is_that_of_colorsys(factor):
    def turned(*pixel):
        hue, saturation, value = colorsys.rgb_to_hsv(*pixel)
        return colorsys.hsv_to_rgb((hue + factor) % 1, saturation, value)
    planes = FLOATS.astype(np.float64)
    planes[:, 0] = planes[0, 0]                            # gray has no hue
    expected = np.reshape([turned(*pixel) for pixel in planes.reshape(3, -1).T], (11, 13, 3)).transpose(2, 0, 1)
    np.testing.assert_allclose(F.adjust_hue(planes, factor), expected, rtol=1e-12, atol=1e-12)
    wide = abs(F.adjust_hue(BYTES, factor).astype(int) - planes_of(F.adjust_hue(PHOTO, factor)))
    assert np.minimum(wide, 256 - wide).max() <= 12        # Pillow keeps hues in 8 bits
    assert F.adjust_hue(BYTES[:1], factor) is not None and F.adjust_hue(PHOTO.convert("L"), factor).mode == "L"


def test_grayscale_is_luma():
    expected = np.tensordot([0.2989, 0.587, 0.114], FLOATS, 1)
    np.testing.assert_allclose(T.Grayscale()(FLOATS)[0], expected, rtol=1e-5)
    assert T.Grayscale(3)(FLOATS).shape == (3, 11, 13)
    assert abs(T.Grayscale()(BYTES)[0].astype(int) - np.array(PHOTO.convert("L"))).max() <= 1
    assert T.Grayscale(3)(PHOTO).mode == "RGB" and T.RandomGrayscale(1.0)(PHOTO).mode == "RGB"


def test_gaussian_blur_is_scipys():
    def expected_of(planes, sizes, sigmas):
        for axis, size, sigma in zip((-1, -2), sizes, sigmas):
            weights = np.exp(-0.5 * ((np.arange(size) - size // 2) / sigma) ** 2)
            planes = ndimage.correlate1d(planes, weights / weights.sum(), axis, mode="mirror")
        return planes
    expected = expected_of(FLOATS.astype(np.float64), (3, 5), (0.7, 1.3))
    np.testing.assert_allclose(F.gaussian_blur(FLOATS, (3, 5), (0.7, 1.3)), expected, rtol=1e-5)
    blurred = expected_of(BYTES.astype(np.float64), (5, 5), (1.1, 1.1))
    assert abs(F.gaussian_blur(BYTES, 5) - blurred).max() <= 0.501
    assert np.array_equal(planes_of(F.gaussian_blur(PHOTO, 5)), F.gaussian_blur(BYTES, 5))


# ------------------------------------------------------------------------------------ gradients and devices
DIFFERENTIABLE = {
    "resize": lambda x: F.resize(x, (5, 3)), "rotate": lambda x: F.rotate(x, 20, "bilinear"),
    "pad": lambda x: F.pad(x, 1, 0, "reflect"), "crop": lambda x: F.center_crop(x, (3, 6)),
    "flips": lambda x: F.hflip(F.vflip(x)), "blur": lambda x: F.gaussian_blur(x, 3, 0.8),
    "erase": lambda x: F.erase(x, 1, 1, 2, 2, 0.5)}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_tensors_that_require_grad_keep_it(name):
    image = RNG.random((3, 4, 4)) * 0.5 + 0.25
    function = DIFFERENTIABLE[name]
    np.testing.assert_allclose(function(lnb.tensor(image, requires_grad=True)).detach().numpy(), function(image),
                               rtol=1e-12, atol=1e-12)
    check_grad(function, image, order=1)


# -------------------------------------------------------------------------------------------------- drawing
RANDOM = {
    "crop": T.RandomCrop(4, padding=1), "resized": T.RandomResizedCrop(6), "flip": T.RandomHorizontalFlip(),
    "vflip": T.RandomVerticalFlip(), "rotation": T.RandomRotation(30), "gray": T.RandomGrayscale(0.5),
    "jitter": T.ColorJitter(0.4, 0.4, 0.4, 0.1), "blur": T.GaussianBlur(3), "erasing": T.RandomErasing(0.7),
    "noise": T.RandomErasing(1, value="random")}


@pytest.mark.parametrize("name", RANDOM)
def test_random_transforms_repeat_by_the_library_seed_and_vary(name):
    again = pickle.loads(pickle.dumps(RANDOM[name]))       # as a worker gets it

    def run(seed, transform):
        lnb.random.seed(seed)
        return [np.asarray(transform(FLOATS)).tobytes() for _ in range(8)]
    first = run(3, RANDOM[name])
    assert first == run(3, again) != run(4, again) and len(set(first)) > 1


@pytest.mark.parametrize("name", sorted(set(RANDOM) - {"erasing", "noise"}))
def test_random_transforms_do_the_same_to_images_of_pillow(name):
    transform = T.RandomResizedCrop(6, antialias=True) if name == "resized" else RANDOM[name]
    for seed in range(4):
        lnb.random.seed(seed)
        found = planes_of(transform(PHOTO)).astype(int)
        lnb.random.seed(seed)
        difference = abs(transform(BYTES).astype(int) - found)
        difference = np.minimum(difference, 256 - difference)
        assert (difference <= (12 if name == "jitter" else 2)).mean() > (0.9 if name == "rotation" else 0.999)


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.01, 1), st.floats(1, 4), st.integers(0, 99))
def test_random_boxes_keep_to_their_bounds(rows, cols, least, shape, seed):
    lnb.random.seed(seed)
    top, left, height, width = T.RandomResizedCrop(3, (least, 1.0), (1 / shape, shape)).box(rows, cols)
    assert 0 <= top <= rows - height and 0 <= left <= cols - width and height > 0 and width > 0
    erased = T.RandomErasing(1, (least / 2, least), (1 / shape, shape), value=5)(np.zeros((1, rows, cols)))
    assert erased.shape == (1, rows, cols) and ((erased == 5).sum() < rows * cols or rows * cols == 1)


def test_random_transforms_happen_as_often_as_p_says():
    lnb.random.seed(0)
    count = sum(bool(T.RandomHorizontalFlip(0.3)(np.arange(2)[None])[0, 0]) for _ in range(2000))
    assert abs(count - 600) < 5 * np.sqrt(2000 * 0.3 * 0.7)
    places = [T.RandomCrop(2)(np.arange(20).reshape(4, 5))[0, 0] for _ in range(600)]
    assert np.bincount(places, minlength=20).reshape(4, 5)[:3, :4].min() > 20 and len(set(places)) == 12
    angles = np.array([T.random_transforms.uniform(-2, 5) for _ in range(4000)])
    assert -2 <= angles.min() < -1.9 < 4.9 < angles.max() <= 5 and abs(angles.mean() - 1.5) < 0.2


def test_color_jitter_of_nothing_is_the_image_and_orders_vary():
    assert T.ColorJitter()(PHOTO) is PHOTO
    assert T.ColorJitter(0.5, (0.2, 3), 0, 0.5).brightness == (0.5, 1.5) and T.ColorJitter(hue=0.2).hue == (-0.2, 0.2)
    assert T.ColorJitter(brightness=2).brightness == (0, 3)


@pytest.mark.serial
def test_transforms_go_to_workers_and_draw_by_seed():
    steps = [T.ToPILImage(), T.RandomCrop(5), T.ToTensor(), T.Lambda(cases.double), T.Normalize([0.5] * 3, 1)]
    data = cases.Mapped(BYTES, T.Compose(steps))
    loader = DataLoader(data, 3, num_workers=1, seed=1, persistent_workers=True)
    first = np.concatenate([batch.numpy() for batch in loader])
    loader.epoch = 0
    assert first.shape == (6, 3, 5, 5) and len(np.unique(first[:, 0, 0, 0])) > 2
    assert np.array_equal(first, np.concatenate([batch.numpy() for batch in loader]))


@pytest.mark.serial
def test_transforms_of_tensors_need_no_pillow():
    text = ("import sys; sys.modules['PIL'] = None\nimport numpy as np\nfrom lucid_nb.data import transforms as T\n"
            "x = T.Compose([T.RandomCrop(3), T.Resize(5), T.ToTensor()])(np.zeros((4, 4), np.uint8))\n"
            "print(x.shape, 'lucid_nb.kernels' in sys.modules)\nT.ToPILImage()(x)")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout == "(1, 5, 5) False\n" and "pip install 'lucid_nb[images]'" in done.stderr.splitlines()[-1]


# -------------------------------------------------------------------------------------------------- refusals
@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: T.Resize(0), lnb.ConfigError, "Resize: size is 0"),
    (lambda: T.Resize("a"), lnb.ConfigError, "size is 'a'"),
    (lambda: T.Resize(3, "linear"), lnb.ConfigError, "interpolation is 'linear'"),
    (lambda: F.resize(BYTES, 9, max_size=9), lnb.ConfigError, "max_size is 9"),
    (lambda: T.RandomCrop(40)(BYTES), lnb.ShapeError, r"a part of \(40, 40\) of an image of \(11, 13\)"),
    (lambda: T.RandomHorizontalFlip(1.5), lnb.ConfigError, "RandomHorizontalFlip: p is 1.5"),
    (lambda: T.Normalize([0], [0]), lnb.ConfigError, "Normalize: std is"),
    (lambda: T.Normalize([0, 1], [1, 1])(FLOATS), lnb.ShapeError, "mean has 2 values for 3 channels"),
    (lambda: T.Normalize(0, 1)(BYTES), lnb.DTypeError, "an image of uint8"),
    (lambda: T.ToTensor()("photo.png"), lnb.DTypeError, "the image is a str"),
    (lambda: T.ToTensor()(np.zeros((1, 2, 3, 4))), lnb.DTypeError, r"an array of shape \(1, 2, 3, 4\)"),
    (lambda: T.ToPILImage()(np.zeros((2, 2, 7))), lnb.ShapeError, "1 to 4 channels"),
    (lambda: T.Pad(1, padding_mode="wrap"), lnb.ConfigError, "padding_mode is 'wrap'"),
    (lambda: F.pad(BYTES, (1, 2, 3)), lnb.ConfigError, "padding is"),
    (lambda: F.pad(BYTES, 1, (1, 2)), lnb.ShapeError, "2 values for 3 channels"),
    (lambda: T.RandomRotation(-3), lnb.ConfigError, "degrees is -3"),
    (lambda: F.rotate(BYTES, 3, "bicubic"), lnb.ConfigError, "'bicubic' of a tensor"),
    (lambda: T.ColorJitter(hue=0.7), lnb.ConfigError, "hue is 0.7"),
    (lambda: T.ColorJitter(brightness=-1), lnb.ConfigError, "brightness is -1"),
    (lambda: F.adjust_contrast(BYTES, -1), lnb.ConfigError, "the factor is -1"),
    (lambda: F.adjust_contrast(np.zeros((2, 3, 3)), 1), lnb.ShapeError, r"an image of shape \(2, 3, 3\)"),
    (lambda: T.GaussianBlur(4), lnb.ConfigError, "Use odd integers"),
    (lambda: T.GaussianBlur(3, (2, 1)), lnb.ConfigError, "sigma is"),
    (lambda: F.gaussian_blur(BYTES, 31), lnb.ShapeError, "on an image of 11 rows"),
    (lambda: T.RandomErasing(value="noise"), lnb.ConfigError, "value is 'noise'"),
    (lambda: T.RandomErasing(1, value=[1, 2])(FLOATS), lnb.ShapeError, "2 values for 3 channels"),
    (lambda: T.RandomResizedCrop(3, (2, 1)), lnb.ConfigError, "scale is"),
    (lambda: T.Compose([T.ToTensor(), 3]), lnb.ConfigError, "Compose: 3 is no transform"),
    (lambda: T.Lambda(3), lnb.ConfigError, "Lambda: 3 is no function"),
    (lambda: T.Grayscale(2), lnb.ConfigError, "num_output_channels is 2"),
    (lambda: F.rotate(BYTES, np.nan), lnb.ConfigError, "the angle is nan"),
    (lambda: T.RandomResizedCrop(2)(BYTES[:, :0]), lnb.ShapeError, r"shape \(3, 0, 13\)"),
    (lambda: F.hflip(np.zeros(3)), lnb.ShapeError, r"shape \(3,\)")], ids=range(33))
def test_transforms_refuse_in_one_sentence(call, kind, text):
    with pytest.raises(kind, match=text) as found:
        call()
    assert "\n" not in str(found.value)


def test_erasing_an_image_of_pillow_is_refused():
    image = Image.fromarray(BYTES.transpose(1, 2, 0))
    with pytest.raises(lnb.DTypeError, match=r"RandomErasing: the image is Pillow's\. Put ToTensor"):
        T.RandomErasing(1.0)(image)

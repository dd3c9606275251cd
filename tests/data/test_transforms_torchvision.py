"""Transforms beside torchvision's, where it is installed: the same images and the same numbers drawn."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.data.transforms import functional as ours

torchvision = pytest.importorskip("torchvision", reason="torchvision is the oracle")
Image = pytest.importorskip("PIL.Image", reason="images are Pillow's")
torch = pytest.importorskip("torch", reason="torchvision's tensors are torch's")
theirs = torchvision.transforms.functional
MODES = torchvision.transforms.InterpolationMode

RNG = np.random.default_rng(8)
# Both sides odd, no turn by 30 degrees: those put places just between two pixels, where rounding errors decide.
BYTES = RNG.integers(0, 256, (3, 11, 13), np.uint8)
FLOATS = RNG.random((3, 11, 13), np.float32)
CALLS = {
    "resize": (dict(size=[7, 9]), dict(size=[22, 30]), dict(size=6), dict(size=20, max_size=23), dict(size=[7, 20])),
    "pad": (dict(padding=2), dict(padding=[1, 2], fill=3), dict(padding=[1, 2, 3, 0], padding_mode="reflect"),
            dict(padding=[1, 2, 3, 0], padding_mode="edge"), dict(padding=[4, 2, 3, 0], padding_mode="symmetric")),
    "crop": (dict(top=2, left=3, height=5, width=6), dict(top=-2, left=10, height=5, width=6)),
    "center_crop": (dict(output_size=[6, 5]), dict(output_size=[5, 7]), dict(output_size=[14, 9]),
                    dict(output_size=[13, 17])),
    "hflip": (dict(),), "vflip": (dict(),),
    "rotate": (*(dict(angle=angle, expand=expand) for angle in (31, 90, -117.5, 180) for expand in (False, True)),
               dict(angle=20, center=[2, 3]), dict(angle=20, center=[2, 3], expand=True), dict(angle=33, fill=[7])),
    "adjust_brightness": (dict(brightness_factor=0.4), dict(brightness_factor=1.7)),
    "adjust_contrast": (dict(contrast_factor=0.4), dict(contrast_factor=1.7)),
    "adjust_saturation": (dict(saturation_factor=0.4), dict(saturation_factor=1.7)),
    "adjust_hue": (dict(hue_factor=0.3), dict(hue_factor=-0.41), dict(hue_factor=0.5)),
    "rgb_to_grayscale": (dict(), dict(num_output_channels=3)),
    "gaussian_blur": (dict(kernel_size=[3, 5], sigma=[0.7, 1.2]), dict(kernel_size=[5, 5])),
}
CASES = [pytest.param(name, options, id=f"{name}-{number}") for name, calls in CALLS.items()
         for number, options in enumerate(calls)]


def compare(found, expected, step):
    """Floats within rounding; integers but for single places that lie on an edge of rounding, by one step."""
    assert found.shape == expected.shape and found.dtype == expected.dtype
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
        return
    difference = abs(found.astype(int) - expected)
    assert difference.max() <= step and (difference > 0).mean() < 0.05


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("planes", [BYTES, FLOATS], ids=["bytes", "floats"])
def test_functions_of_tensors_are_torchvisions(name, options, planes):
    found = getattr(ours, name)(lnb.asarray(planes), **options)
    assert isinstance(found, lnb.Tensor)
    compare(found.numpy(), getattr(theirs, name)(torch.tensor(planes), **options).numpy(), 1)


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_functions_of_images_are_torchvisions(name, options, mode):
    image = Image.fromarray(BYTES.transpose(1, 2, 0)).convert(mode)
    found, expected = (getattr(library, name)(image, **options) for library in (ours, theirs))
    assert found.mode == expected.mode
    compare(np.array(found), np.array(expected), 0 if name != "gaussian_blur" else 1)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("size", [[7, 9], [23, 30], [11, 5]], ids=str)
def test_ways_to_resize_are_torchvisions(mode, antialias, size):
    for planes in (FLOATS, BYTES):
        found = ours.resize(lnb.asarray(planes), size, mode, None, antialias).numpy()
        compare(found, theirs.resize(torch.tensor(planes), size, MODES(mode), None, antialias).numpy(), 1)


@pytest.mark.parametrize("angle", [12, 90, 250.5])
@pytest.mark.parametrize("expand", [True, False])
def test_rotation_between_pixels_is_torchvisions(angle, expand):
    for planes in (FLOATS, BYTES):
        found = ours.rotate(lnb.asarray(planes), angle, "bilinear", expand, fill=3).numpy()
        compare(found, theirs.rotate(torch.tensor(planes), angle, MODES("bilinear"), expand, fill=[3.0]).numpy(), 1)


@pytest.mark.parametrize("mode", ["RGB", "L", "I", "F", "1", "RGBA", "CMYK", "LA"])
def test_to_tensor_is_torchvisions(mode):
    image = Image.fromarray(BYTES.transpose(1, 2, 0)).convert("L" if mode == "1" else mode).convert(mode)
    compare(ours.to_tensor(image).numpy(), theirs.to_tensor(image).numpy(), 0)


def test_normalize_is_torchvisions():
    mean, std = [0.1, 0.5, 0.3], [0.2, 0.7, 1.5]
    compare(ours.normalize(lnb.asarray(FLOATS), mean, std).numpy(),
            theirs.normalize(torch.tensor(FLOATS), mean, std).numpy(), 0)

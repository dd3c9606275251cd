"""Interpolation, sampling at the points of a grid, and grids. Oracles: torch where it is installed; NumPy, SciPy and
the definitions elsewhere."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.kernels import memory
from lucid_nb.kernels.resample import resample
from lucid_nb.nn import functional as F
from lucid_nb.testing import check_grad

RANDOM = np.random.default_rng(6)
DEVICES = ["mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)]
FORMS = [("nearest", {}), ("nearest-exact", {}), ("area", {}), ("bilinear", {}), ("bilinear", dict(align_corners=True)),
         ("bicubic", {}), ("bicubic", dict(align_corners=True)), ("bilinear", dict(antialias=True)),
         ("bicubic", dict(antialias=True)), ("bicubic", dict(antialias=True, align_corners=True))]
GRIDS = [(mode, padding, aligned) for mode in ("bilinear", "nearest", "bicubic")
         for padding in ("zeros", "border", "reflection") for aligned in (False, True)]
each_form = pytest.mark.parametrize(("mode", "options"), FORMS, ids=str)
each_grid = pytest.mark.parametrize(("mode", "padding", "aligned"), GRIDS)


def torch_functions():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    return torch, torch.nn.functional


# ---------------------------------------------------------------------------------------------- interpolate
@each_form
def test_interpolation_of_all_sizes_equals_torch(mode, options):
    torch, functions = torch_functions()
    for before, after in itertools.product([1, 2, 3, 5, 8, 13, 30, 40], [1, 2, 3, 4, 7, 11, 22, 37, 40]):
        if after == 1 and "antialias" in options:
            continue                          # torch leaves the height as it is there, and takes its first rows
        x = RANDOM.normal(size=(2, 2, 3, before))
        found = F.interpolate(x, (5, after), mode=mode, **options)
        expected = functions.interpolate(torch.tensor(x), (5, after), mode=mode, **options)
        assert np.allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-9)


@each_form
@pytest.mark.parametrize("recompute", [None, True])
def test_interpolation_by_factors_equals_torch(mode, options, recompute):
    torch, functions = torch_functions()
    for size, factor in itertools.product([3, 7, 11], [0.6, 1.0, 1.3, 2.0, (2.6, 0.5)]):
        x = RANDOM.normal(size=(2, 2, size, size + 1))
        given = dict(scale_factor=factor, mode=mode, recompute_scale_factor=recompute, **options)
        found, expected = F.interpolate(x, **given), functions.interpolate(torch.tensor(x), **given)
        assert np.allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("shape", "mode", "size"), [
    ((2, 3, 5), "linear", 8), ((2, 3, 5), "nearest", 3), ((1, 2, 3, 4, 5), "trilinear", (2, 7, 4)),
    ((1, 2, 3, 4, 5), "area", (2, 3, 4)), ((1, 2, 3, 4, 5), "nearest-exact", (4, 3, 8))])
def test_lines_and_volumes_equal_torch_with_gradients(shape, mode, size):
    torch, functions = torch_functions()
    x = RANDOM.normal(size=shape).astype(np.float32)
    a, b = lnb.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    y, z = F.interpolate(a, size, mode=mode), functions.interpolate(b, size, mode=mode)
    assert np.allclose(y.detach().numpy(), z.detach().numpy(), atol=2e-6)
    weights = RANDOM.normal(size=y.shape).astype(np.float32)
    y.backward(lnb.asarray(weights))
    z.backward(torch.tensor(weights))
    assert np.allclose(a.grad.numpy(), b.grad.numpy(), atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("factor", [1.1, 1.3, 2.1, 2.3])
def test_factors_that_keep_or_double_a_size_give_the_places_of_torch(mode, ndim, factor):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    for size in range(2, 6):
        x = np.arange(3.0 * size ** ndim).reshape(1, 3, *[size] * ndim)
        wanted = torch.nn.functional.interpolate(torch.tensor(x), scale_factor=factor, mode=mode)
        assert np.array_equal(F.interpolate(x, scale_factor=factor, mode=mode).numpy(), wanted.numpy())


def test_lines_are_read_at_the_places_of_their_factor():
    places = np.floor(np.arange(2) / 1.3).astype(int)
    assert np.array_equal(F.interpolate([[[5.0, 7.0]]], scale_factor=1.3).numpy()[0, 0], np.array([5.0, 7.0])[places])


def test_linear_interpolation_is_that_of_numpy():
    x = RANDOM.normal(size=(2, 3, 7))
    at = np.clip((np.arange(11) + 0.5) * 7 / 11 - 0.5, 0, 6)
    expected = [[np.interp(at, np.arange(7), row) for row in image] for image in x]
    assert np.allclose(F.interpolate(x, 11, mode="linear").numpy(), expected)
    aligned = [[np.interp(np.linspace(0, 6, 11), np.arange(7), row) for row in image] for image in x]
    assert np.allclose(F.interpolate(x, 11, mode="linear", align_corners=True).numpy(), aligned)


def test_area_takes_the_mean_of_what_is_covered():
    x = RANDOM.normal(size=(1, 1, 7))
    expected = [x[0, 0, i * 7 // 5:-(-(i + 1) * 7 // 5)].mean() for i in range(5)]
    assert np.allclose(F.interpolate(x, 5, mode="area").numpy()[0, 0], expected)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_constants_stay_constant(mode):
    for antialias, aligned in itertools.product([False, True], repeat=2):
        found = F.interpolate(np.full((1, 1, 9, 9), 3.0), (4, 20), mode=mode, align_corners=aligned,
                              antialias=antialias)
        assert np.allclose(found.numpy(), 3, rtol=1e-12)


@each_form
def test_interpolation_has_gradients(mode, options):
    x = RANDOM.normal(size=(1, 2, 3, 4))
    for size in ((5, 2), (2, 7)):
        check_grad(partial(F.interpolate, size=size, mode=mode, **options), x)


@each_form
@pytest.mark.parametrize("device", DEVICES)
def test_interpolation_is_the_same_on_every_device(mode, options, device):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    x, found = RANDOM.normal(size=(1, 2, 3, 4)).astype(np.float32), []
    for place in ("cpu", device):
        leaf = lnb.tensor(x, device=place, requires_grad=True)
        y = F.interpolate(leaf, (5, 3), mode=mode, **options)
        (y * y).sum().backward()
        found.append([part.to("cpu").numpy() for part in (y.detach(), leaf.grad)])
    assert all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(*found))


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool", "float16", "bfloat16"])
def test_nearest_takes_any_dtype(dtype):
    x = lnb.asarray(RANDOM.integers(0, 2, (1, 2, 3))).astype(dtype)
    found = F.interpolate(x, 6)
    assert found.dtype == x.dtype and np.array_equal(found.numpy(), x.numpy().repeat(2, -1))
    if x.dtype.itemsize == 2:
        assert F.interpolate(x, 5, mode="linear").dtype == x.dtype


@given(st.data())
def test_resampling_is_a_product_with_a_matrix(data):
    size, results = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 40))
    shape = [data.draw(st.integers(0, 5)), size, data.draw(st.sampled_from([1, 2, 33]))]
    matrix = np.where(RANDOM.random((results, size)) < 0.2, RANDOM.normal(size=(results, size)), 0)
    rows, places = map(np.ascontiguousarray, np.nonzero(matrix))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=results))])
    x = RANDOM.normal(size=shape)
    found = resample(x, 1, starts, places, matrix[rows, places])
    assert np.allclose(found, np.einsum("rs,asb->arb", matrix, x), atol=1e-12)
    narrow = resample(x.astype(np.float32), 1, starts, places, matrix[rows, places])
    assert narrow.dtype == np.float32 and np.allclose(narrow, found, atol=1e-5)


@pytest.mark.parametrize("inner", [1, 5, 37])
def test_nothing_is_written_beside_the_result(inner, monkeypatch):
    count = 3 * 7 * inner
    whole = np.full(count + 128, 7.0)
    monkeypatch.setattr(memory, "empty", lambda shape, dtype: whole[64:64 + count].reshape(shape))
    starts, places = np.arange(0, 22, 3), np.arange(21) % 4
    resample(np.zeros((3, 4, inner)), 1, starts, places, np.ones(21))
    assert np.all(whole[:64] == 7) and np.all(whole[64 + count:] == 7) and np.all(whole[64:64 + count] == 0)


def test_bits_do_not_depend_on_the_number_of_threads():
    x, before, found = RANDOM.normal(size=(4, 8, 100, 100)).astype(np.float32), lnb.get_num_threads(), []
    for count in (1, 2):
        lnb.set_num_threads(count)
        found.append(F.interpolate(x, (150, 70), mode="bicubic").numpy())
    lnb.set_num_threads(before)
    assert np.array_equal(*found)


def test_an_empty_batch_stays_empty():
    assert F.interpolate(np.ones((0, 2, 3)), 5, mode="linear").shape == (0, 2, 5)
    assert F.grid_sample(np.ones((0, 2, 3, 3)), np.ones((0, 4, 5, 2))).shape == (0, 2, 4, 5)


# -------------------------------------------------------------------------------------------------- layers
@pytest.mark.parametrize(("kind", "options"), [
    ("Upsample", dict(scale_factor=2)), ("Upsample", dict(size=(7, 3), mode="bicubic")),
    ("Upsample", dict(scale_factor=(2, 1.5), mode="bilinear", align_corners=True)),
    ("UpsamplingNearest2d", dict(size=5)), ("UpsamplingBilinear2d", dict(scale_factor=3))])
def test_layers_equal_torch(kind, options):
    torch, _ = torch_functions()
    ours, theirs = getattr(nn, kind)(**options), getattr(torch.nn, kind)(**options)
    x = RANDOM.normal(size=(1, 2, 3, 4))
    assert repr(ours) == repr(theirs)
    assert np.allclose(ours(x).numpy(), theirs(torch.tensor(x)).numpy(), rtol=1e-10)


# -------------------------------------------------------------------------------------------------- grids
@each_grid
def test_sampling_equals_torch_with_gradients(mode, padding, aligned):
    torch, functions = torch_functions()
    cases = [((2, 3, 5, 6), (2, 4, 7, 2)), ((1, 1, 1, 1), (1, 3, 3, 2)), ((2, 2, 3, 4, 5), (2, 2, 3, 4, 3))]
    for shape, grid_shape in cases[:2] if mode == "bicubic" else cases:
        x, grid = RANDOM.normal(size=shape), RANDOM.normal(size=grid_shape) * 1.2
        ours, theirs = ([make(v, requires_grad=True) for v in (x, grid)] for make in (lnb.tensor, torch.tensor))
        y, z = F.grid_sample(*ours, mode, padding, aligned), functions.grid_sample(*theirs, mode, padding, aligned)
        assert np.allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-9, atol=1e-9)
        weights = RANDOM.normal(size=y.shape)
        y.backward(lnb.asarray(weights))
        z.backward(torch.tensor(weights))
        for one, two in zip(ours, theirs):
            slope = np.zeros(one.shape) if one.grad is None else one.grad.numpy()
            assert np.allclose(slope, two.grad.numpy(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("padding", "theirs"), [("zeros", "grid-constant"), ("border", "nearest"),
                                                 ("reflection", "mirror")])
def test_sampling_between_elements_is_that_of_scipy(padding, theirs):
    x = RANDOM.normal(size=(5, 7))
    at = RANDOM.uniform(-0.9, 1.1, (2, 40)) * np.array([[4], [6]])
    grid = np.stack([at[1] / 3 - 1, at[0] / 2 - 1], -1)[None, None]
    found = F.grid_sample(x[None, None], grid, padding_mode=padding, align_corners=True).numpy().ravel()
    assert np.allclose(found, ndimage.map_coordinates(x, at, order=1, mode=theirs), atol=1e-12)


@pytest.mark.parametrize(("mode", "padding"), [("bilinear", "zeros"), ("bicubic", "border"), ("bicubic", "zeros"),
                                               ("bilinear", "reflection")])
def test_sampling_has_gradients_to_the_second_order(mode, padding):
    x, grid = RANDOM.normal(size=(1, 2, 4, 5)), RANDOM.uniform(-0.8, 0.8, (1, 2, 3, 2))
    check_grad(lambda x, grid: F.grid_sample(x, grid, mode, padding), x, grid)


@pytest.mark.parametrize("device", DEVICES)
def test_sampling_is_the_same_on_every_device(device):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    x, theta = (RANDOM.normal(size=shape).astype(np.float32) for shape in ((1, 2, 3, 4), (1, 2, 3)))
    found = []
    for place in ("cpu", device):
        image, maps = (lnb.tensor(v, device=place, requires_grad=True) for v in (x, theta))
        y = F.grid_sample(image, F.affine_grid(maps, (1, 2, 3, 3)))
        (y * y).sum().backward()
        found.append([part.to("cpu").numpy() for part in (y.detach(), image.grad, maps.grad)])
    assert all(np.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(*found))


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_a_mirrored_image_goes_on_for_ever(mode, aligned):
    x, near = RANDOM.normal(size=(1, 2, 4, 5)), RANDOM.uniform(-0.7, 0.7, (1, 6, 3, 2))
    for turns in (1, 4, 5, 40, -7):
        for far in (4 * turns + near, 4 * turns + 2 - near):               # an image is two wide, from -1 to 1
            found, wanted = (F.grid_sample(x, grid, mode, "reflection", aligned).numpy() for grid in (far, near))
            assert np.allclose(found, wanted, atol=1e-9), turns


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["border", "reflection"])
@pytest.mark.parametrize("aligned", [False, True])
def test_infinitely_far_places_are_in_the_image(aligned, padding, mode):
    x, far = np.full((1, 1, 5, 1), 7.0), np.array([[0, np.inf], [np.inf, 0], [-np.inf, np.inf]])
    found = F.grid_sample(x, far.reshape(1, 1, 3, 2), mode, padding, aligned)
    assert np.allclose(found.numpy(), 7)


def test_what_is_no_number_is_sampled_at_the_first_corner():
    x = np.arange(6.0).reshape(1, 1, 2, 3)
    grid = np.full((1, 1, 1, 2), np.nan)
    assert F.grid_sample(x, grid, align_corners=True).item() == 0
    for far in (np.inf, -np.inf, 1e30):
        assert F.grid_sample(x, np.full((1, 1, 1, 2), far)).item() == 0
        assert F.grid_sample(x, np.full((1, 1, 1, 2), far), padding_mode="border").item() == (5 if far > 0 else 0)


@pytest.mark.filterwarnings("ignore:Since version 1.3.0")
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("size", [(2, 1, 3, 4), (2, 1, 1, 1), (2, 1, 2, 3, 4)])
def test_affine_grids_equal_torch(size, aligned):
    torch, functions = torch_functions()
    theta = RANDOM.normal(size=(2, len(size) - 2, len(size) - 1))
    found = F.affine_grid(theta, size, aligned)
    assert np.allclose(found.numpy(), functions.affine_grid(torch.tensor(theta), size, aligned).numpy())
    check_grad(lambda theta: F.affine_grid(theta, size, aligned), theta)


def test_the_identity_samples_the_image_itself():
    x = RANDOM.normal(size=(2, 3, 4, 5))
    identity = np.tile(np.eye(2, 3), (2, 1, 1))
    for aligned in (False, True):
        found = F.grid_sample(x, F.affine_grid(identity, x.shape, aligned), align_corners=aligned)
        assert np.allclose(found.numpy(), x)


# ------------------------------------------------------------------------------------------------ refusals
@pytest.mark.parametrize("call", [
    lambda x: F.interpolate(x, 3, mode="cubic"), lambda x: F.interpolate(x), lambda x: F.interpolate(x, 3, 2.0),
    lambda x: F.interpolate(x, 3, align_corners=True), lambda x: F.interpolate(x, 3, antialias=True),
    lambda x: F.interpolate(x, 3, recompute_scale_factor=True), lambda x: F.interpolate(x, scale_factor=-1),
    lambda x: F.grid_sample(x, np.ones((1, 1, 1, 2)), mode="cubic"),
    lambda x: F.grid_sample(x, np.ones((1, 1, 1, 2)), padding_mode="wrap"),
    lambda x: F.grid_sample(x[None], np.ones((1, 1, 1, 1, 3)), mode="bicubic")])
def test_options_out_of_range_are_refused(call):
    with pytest.raises(lnb.ConfigError):
        call(np.ones((1, 1, 2, 2)))


@pytest.mark.parametrize("call", [
    lambda x: F.interpolate(x, 3, mode="linear"), lambda x: F.interpolate(x, (3, 3, 3)), lambda x: F.interpolate(x, 0),
    lambda x: F.interpolate(x, scale_factor=0.1), lambda x: F.interpolate(x[0, 0], 3),
    lambda x: F.grid_sample(x, np.ones((2, 1, 1, 2))), lambda x: F.grid_sample(x, np.ones((1, 1, 1, 3))),
    lambda x: F.affine_grid(np.ones((1, 2, 2)), (1, 1, 2, 2)), lambda x: F.affine_grid(np.ones((1, 2, 3)), (1, 1, 2))])
def test_shapes_that_do_not_fit_are_refused(call):
    with pytest.raises(lnb.ShapeError):
        call(np.ones((1, 1, 2, 2)))


@pytest.mark.parametrize("quarter", [-1, 0, 1, 2, 5])
@pytest.mark.parametrize("size", [1, 4, 5])
def test_quarters_of_a_turn_are_exact(size, quarter):
    x = np.arange(2 * size * size, dtype=np.float32).reshape(1, 2, size, size)
    assert np.array_equal(F.rotate(x, 90 * quarter).numpy(), np.rot90(x, -quarter, (2, 3)))


@given(height=st.integers(1, 7), width=st.integers(1, 7), angle=st.floats(-400, 400), middle=st.booleans())
def test_turned_images_are_those_of_scipy(height, width, angle, middle):

    x, turn = np.random.default_rng(0).random((height, width)), np.deg2rad(angle)
    at = None if middle else (1.3, 0.4)
    origin = np.array(((height - 1) / 2, (width - 1) / 2) if at is None else at[::-1])
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    places = matrix @ (np.indices(x.shape).reshape(2, -1) - origin[:, None]) + origin[:, None]
    clear = (np.abs(places % 1 - 0.5) > 1e-6).all(0).reshape(x.shape)             # nearest to one pixel alone
    wanted = ndimage.affine_transform(x, matrix, origin - matrix @ origin, order=0, mode="nearest")
    assert np.array_equal(F.rotate(x, angle, at).numpy()[clear], wanted[clear])


def test_turned_images_have_gradients_to_second_order():
    check_grad(lambda x: F.rotate(x, 33.0) ** 3, np.random.default_rng(0).random((1, 1, 3, 4)))
    for wrong in (lambda: F.rotate(np.ones(3), 1), lambda: F.rotate(np.ones((2, 2)), np.inf),
                  lambda: F.rotate(np.ones((2, 2)), 1, (1, 2, 3))):
        with pytest.raises(lnb.ShapeError, match=r"^rotate: "):
            wrong()

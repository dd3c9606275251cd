"""conv2d against SciPy's correlation and a direct sum; gradients to second order against finite differences."""

import numpy as np
import pytest
import scipy.signal

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.testing import assert_close, check_grad

from .derivatives import check_against_cpu

RNG = np.random.default_rng(15)
# x, weight, what conv2d is given beside them
CASES = [
    ((1, 1, 5, 5), (1, 1, 3, 3), {}),
    ((2, 3, 6, 7), (4, 3, 3, 2), dict(stride=2, padding=1)),
    ((2, 4, 5, 6), (6, 2, 2, 3), dict(groups=2, padding=(1, 0), stride=(1, 2))),
    ((1, 4, 7, 7), (4, 1, 3, 3), dict(groups=4, dilation=2, padding=2)),
    ((1, 4, 5, 5), (4, 2, 3, 3), dict(groups=2, stride=2)),
    ((1, 2, 5, 5), (2, 2, 3, 3), dict(padding=((0, 1), (2, 0)))),
    ((1, 2, 8, 6), (3, 2, 3, 3), dict(padding="same", dilation=(2, 1))),
    ((1, 1, 5, 5), (1, 1, 4, 4), dict(padding="same", stride=2)),
    ((1, 2, 5, 5), (2, 2, 5, 5), dict(padding="valid")),
    ((2, 3, 4, 4), (2, 3, 1, 1), dict(stride=3)),
    ((0, 2, 4, 4), (3, 2, 2, 2), {}),
]


def pairs_of(padding, sizes, kernel, stride, dilation):
    """What a padding means, by its definition."""
    if padding == "valid":
        return [(0, 0), (0, 0)]
    if padding == "same":
        totals = [max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
                  for n, k, s, d in zip(sizes, kernel, stride, dilation)]
        return [(t // 2, t - t // 2) for t in totals]
    padding = (padding,) * 2 if isinstance(padding, int) else padding
    return [(p, p) if isinstance(p, int) else p for p in padding]


def direct(x, w, stride=1, padding=0, dilation=1, groups=1):
    """The definition: a sum over taps, in float64."""
    stride, dilation = [(v,) * 2 if isinstance(v, int) else v for v in (stride, dilation)]
    x = np.pad(x.astype("float64"), [(0, 0), (0, 0), *pairs_of(padding, x.shape[2:], w.shape[2:], stride, dilation)])
    rows, cols = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], w.shape[2:], stride, dilation)]
    x = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    w = w.astype("float64").reshape(groups, w.shape[0] // groups, *w.shape[1:])
    found = np.zeros((x.shape[0], groups, w.shape[1], rows, cols))
    for i in range(w.shape[3]):
        for j in range(w.shape[4]):
            top, left = i * dilation[0], j * dilation[1]
            taps = x[..., top:top + (rows - 1) * stride[0] + 1:stride[0],
                     left:left + (cols - 1) * stride[1] + 1:stride[1]]
            found += np.einsum("ngcyx,goc->ngoyx", taps, w[..., i, j])
    return found.reshape(x.shape[0], groups * w.shape[1], rows, cols)


def draw(case, dtype="float64"):
    """Image and weight of a case."""
    return [RNG.standard_normal(shape).astype(dtype) for shape in case[:2]]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value_follows_the_definition(case, device):
    x, w = draw(case, "float32")
    found = lnb.conv2d(lnb.asarray(x, device=device), lnb.asarray(w, device=device), **case[2])
    assert found.dtype == np.float32 and found.device == device
    assert_close(found, direct(x, w, **case[2]), rtol=2e-6, atol=1e-5)


def test_one_channel_equals_scipy():
    x, w = RNG.standard_normal((9, 8)), RNG.standard_normal((3, 4))
    assert_close(lnb.conv2d(x[None, None], w[None, None])[0, 0], scipy.signal.correlate2d(x, w, "valid"), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_other_float_dtypes_follow_the_definition(dtype):
    x, w = draw(CASES[1], lnb.dtypes.as_dtype("test", dtype))
    found = lnb.conv2d(x, w, **CASES[1][2])
    assert found.dtype == x.dtype
    unit = {"float64": 1e-14, "float16": 2.0 ** -10, "bfloat16": 2.0 ** -7}[dtype]
    assert_close(found, direct(x, w, **CASES[1][2]), rtol=unit, atol=unit)


def test_bias_and_single_images():
    x, w, b = *draw(CASES[1]), RNG.standard_normal(4)
    found = lnb.conv2d(x[0], w, b, **CASES[1][2])
    assert_close(found, direct(x, w, **CASES[1][2])[0] + b[:, None, None], rtol=1e-12)


@pytest.mark.parametrize("shapes", [((2, 16, 30, 31), (32, 16, 3, 3)), ((4, 3, 33, 33), (17, 3, 5, 5)),
                                    ((2, 32, 14, 14), (32, 1, 3, 3))], ids=str)
def test_larger_images_follow_the_definition_for_any_threads(shapes):
    x, w = draw(shapes, "float32")
    groups = x.shape[1] // w.shape[1]
    before, found = lnb.get_num_threads(), []
    try:
        for threads in (1, 2):
            lnb.set_num_threads(threads)
            found.append(lnb.conv2d(x, w, padding=1, groups=groups).to_host())
    finally:
        lnb.set_num_threads(before)
    assert np.array_equal(*found)
    assert_close(found[0], direct(x, w, padding=1, groups=groups), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("case", CASES[:-1], ids=str)
def test_gradient_follows_finite_differences(case):
    check_grad(lambda x, w: lnb.conv2d(x, w, **case[2]), *draw(case))


def test_gradient_of_bias_follows_finite_differences():
    x, w = draw(CASES[0])
    check_grad(lambda x, w, b: lnb.conv2d(x, w, b), x, w, RNG.standard_normal(1))


@pytest.mark.parametrize("case", [CASES[1], CASES[4], CASES[5]], ids=str)
def test_gradient_follows_the_cpu(case, device):
    check_against_cpu(lambda x, w: lnb.conv2d(x, w, **case[2]), *draw(case), device=device)


@pytest.mark.parametrize("shapes, options, text", [
    (((1, 3, 5, 5), (2, 2, 3, 3)), {}, "3 input and 2 output channels in 1 groups do not fit a weight for 2"),
    (((1, 3, 5), (2, 3, 3, 3)), dict(groups=0), "conv2d: "), (((3, 3), (2, 3, 3, 3)), {}, "need 4 axes each"),
    (((1, 1, 2, 2), (1, 1, 3, 3)), {}, r"kernel \(3, 3\) with dilation \(1, 1\) is larger than the input \(2, 2\)"),
    (((1, 1, 5, 5), (1, 1, 3, 3)), dict(stride=0), "stride 0 for 2 spatial axes"),
    (((1, 1, 5, 5), (1, 1, 3, 3)), dict(padding=-1), "none negative"),
    (((1, 1, 5, 5), (1, 1, 3, 3)), dict(padding="full"), "padding 'full' is unknown"),
    (((1, 1, 5, 5), (1, 1, 3, 3)), dict(bias=np.ones(2)), r"bias \(2,\) for 1 output channels")], ids=range(8))
def test_bad_arguments_are_refused(shapes, options, text):
    with pytest.raises(errors.ShapeError, match=text):
        lnb.conv2d(*draw(shapes), **options)

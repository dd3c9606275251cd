"""Convolutions over one to three axes, transposed and general ones: the oracle is the matrix of the linear map.

The matrix of a convolution is written down cell by cell; a transposed convolution is that matrix, transposed.
"""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import assert_close, check_grad

from .derivatives import check_against_cpu

RNG = np.random.default_rng(8)
FORWARD, TRANSPOSED = ([getattr(lnb, f"{name}{ndim}d") for ndim in (1, 2, 3)] for name in ("conv", "conv_transpose"))
# x, weight, what is given beside them
CASES = [((2, 4, 7), (6, 2, 3), dict(stride=2, padding=1, groups=2)), ((1, 2, 6), (3, 2, 3), dict(dilation=2)),
         ((2, 2, 3, 4, 5), (4, 1, 2, 2, 3), dict(groups=2, padding=(1, 0, 1))),
         ((1, 1, 4, 4, 4), (2, 1, 3, 3, 3), dict(stride=2, padding="same")),
         ((1, 2, 5), (2, 2, 4), dict(padding=[(1, 2)])), ((1, 3, 1, 1, 1), (2, 3, 1, 1, 1), {})]
BACK = [((2, 4, 5), (4, 3, 3), dict(stride=2, padding=1, output_padding=1)),
        ((1, 2, 4), (2, 2, 2), dict(groups=2, dilation=3, output_padding=2)),
        ((2, 2, 3, 4), (2, 3, 3, 2), dict(stride=(2, 1), padding=(1, 0), output_padding=(1, 0))),
        ((1, 4, 2, 3), (4, 1, 2, 2), dict(groups=4, stride=3, output_padding=(0, 2))),
        ((1, 2, 2, 2, 3), (2, 1, 2, 3, 2), dict(stride=2, padding=(0, 1, 0), output_padding=(0, 1, 1))),
        ((1, 1, 3), (1, 1, 2), dict(padding=[(0, 1)], stride=2, output_padding=1))]


def spread(value, ndim):
    return (value,) * ndim if isinstance(value, int) else tuple(value)


def matrix(sizes, results, w, stride, low, dilation, groups):
    """(outputs, inputs) of the convolution of inputs of these sizes with w (O, C // groups, *taps)."""
    filters, channels = w.shape[0], w.shape[1] * groups
    found = np.zeros((filters, *results, channels, *sizes))
    for tap in np.ndindex(*w.shape[2:]):
        for at in np.ndindex(*results):
            cell = tuple(a * s - p + d * t for a, s, p, d, t in zip(at, stride, low, dilation, tap))
            if all(0 <= c < n for c, n in zip(cell, sizes)):
                for o in range(filters):
                    first = o // (filters // groups) * w.shape[1]
                    for c in range(w.shape[1]):
                        found[(o, *at, first + c, *cell)] = w[(o, c, *tap)]
    return found.reshape(filters * int(np.prod(results)), -1)


def expected(x, w, stride=1, padding=0, dilation=1, groups=1):
    """The convolution by its matrix."""
    ndim, sizes = x.ndim - 2, x.shape[2:]
    stride, dilation = spread(stride, ndim), spread(dilation, ndim)
    if padding == "same":
        pairs = [(t // 2, t - t // 2) for t in (max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0) for n, s, d, k
                                                in zip(sizes, stride, dilation, w.shape[2:]))]
    else:
        pairs = [p if isinstance(p, tuple) else (p, p) for p in spread(padding, ndim)]
    results = tuple((n + sum(p) - d * (k - 1) - 1) // s + 1
                    for n, p, d, k, s in zip(sizes, pairs, dilation, w.shape[2:], stride))
    table = matrix(sizes, results, w, stride, [p[0] for p in pairs], dilation, groups)
    return (x.reshape(len(x), -1) @ table.T).reshape(len(x), len(w), *results)


def expected_back(x, w, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transposed convolution by the transposed matrix."""
    ndim, sizes = x.ndim - 2, x.shape[2:]
    stride, dilation, more = (spread(v, ndim) for v in (stride, dilation, output_padding))
    pairs = [p if isinstance(p, tuple) else (p, p) for p in spread(padding, ndim)]
    outputs = tuple((n - 1) * s - sum(p) + d * (k - 1) + m + 1
                    for n, s, p, d, k, m in zip(sizes, stride, pairs, dilation, w.shape[2:], more))
    table = matrix(outputs, sizes, w, stride, [p[0] for p in pairs], dilation, groups)
    return (x.reshape(len(x), -1) @ table).reshape(len(x), w.shape[1] * groups, *outputs)


def draw(case):
    return [RNG.standard_normal(shape) for shape in case[:2]]


def called(functions, x, w, options):
    return functions[len(x.shape) - 3](x, w, **options)


def label(value):
    """The same name of a case in every process."""
    value = value[0] if isinstance(value, list) and callable(value[0]) else value
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize("functions, oracle, case", [*[(FORWARD, expected, case) for case in CASES],
                                                     *[(TRANSPOSED, expected_back, case) for case in BACK]], ids=label)
def test_values_and_gradients_follow_the_matrix(functions, oracle, case, device):
    x, w = draw(case)
    wanted = oracle(x, w, **case[2])
    found = called(functions, *(lnb.asarray(a.astype("float32"), device=device) for a in (x, w)), case[2])
    assert found.device == device and found.dtype == np.float32
    assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    single = called(functions, lnb.asarray(x), lnb.asarray(w), case[2])
    assert_close(functions[x.ndim - 3](x[0], w, **case[2]), single[0], rtol=1e-12)
    if device == "cpu":
        b = RNG.standard_normal(wanted.shape[1])
        check_grad(lambda x, w, b: called(functions, x, w, dict(case[2], bias=b)), x, w, b)
    else:
        check_against_cpu(lambda x, w: called(functions, x, w, case[2]), x, w, device=device)


def test_transposed_convolution_equals_torch_over_a_grid():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    for stride in (1, 2, 3):
        for padding in (0, 1, 2):
            for dilation in (1, 2):
                for extra in range(max(stride, dilation)):
                    x, w = RNG.standard_normal((2, 4, 5, 4)), RNG.standard_normal((4, 3, 3, 3))
                    for groups in (1, 2):
                        options = (None, stride, padding, extra, groups, dilation)
                        theirs = torch.nn.functional.conv_transpose2d(torch.tensor(x), torch.tensor(w), *options)
                        assert_close(lnb.conv_transpose2d(x, w, *options), theirs.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("spreads, flip, options", [(2, False, {}), ((3, 1), True, dict(padding=1, stride=2)),
                                                    (1, True, dict(groups=2)), ((2, 3), False, dict(padding="same"))],
                         ids=str)
def test_general_convolution_spreads_its_input_and_flips_its_kernel(spreads, flip, options, device):
    x, w = RNG.standard_normal((2, 2, 4, 3)), RNG.standard_normal((4, 2 // options.get("groups", 1), 2, 3))
    steps = spread(spreads, 2)
    wide = np.zeros((2, 2, *((n - 1) * s + 1 for n, s in zip(x.shape[2:], steps))))
    wide[:, :, ::steps[0], ::steps[1]] = x
    turned = w[:, :, ::-1, ::-1] if flip else w
    options = dict(options, input_dilation=spreads, flip=flip)
    found = lnb.conv_general(*(lnb.asarray(a.astype("float32"), device=device) for a in (x, w)), **options)
    wanted = expected(wide, turned, **{k: v for k, v in options.items() if k not in ("input_dilation", "flip")})
    assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    if device == "cpu":
        check_grad(lambda x, w: lnb.conv_general(x, w, **options), x, w)


ONE, TWO = np.ones((1, 2, 5)), np.ones((2, 2, 3))


@pytest.mark.parametrize("call, text", [
    (lambda: lnb.conv_transpose1d(ONE, TWO, stride=2, output_padding=2),
     r"output_padding \(2,\) is not below stride \(2,\) or dilation \(1,\). The output has \(size - 1\) \* stride"),
    (lambda: lnb.conv_transpose1d(ONE, TWO, padding=5), r"leaves \(-3,\) cells of an input \(5,\)"),
    (lambda: lnb.conv_transpose1d(ONE, np.ones((3, 2, 3))), "2 input channels in 1 groups do not fit a weight"),
    (lambda: lnb.conv_transpose1d(ONE, TWO, padding="same"), "padding 'same' has no meaning here"),
    (lambda: lnb.conv_transpose1d(ONE, TWO, np.ones(3)), r"bias \(3,\) for 2 output channels"),
    (lambda: lnb.conv_transpose1d(ONE, TWO, groups=3), "channels in 3 groups"),
    (lambda: lnb.conv1d(np.ones((2, 5, 5, 5)), TWO), "need 3 axes each"),
    (lambda: lnb.conv3d(ONE, TWO), "need 5 axes each"),
    (lambda: lnb.conv_general(np.ones((1, 2)), TWO), "one to three spatial axes"),
    (lambda: lnb.conv1d(ONE, np.ones((2, 2, 0))), "kernel")], ids=range(10))
def test_bad_geometry_is_refused(call, text):
    with pytest.raises(lnb.ShapeError, match=text):
        call()

"""Bad geometry of windows, 1-D to 3-D: refused in one sentence that names the numbers, before any work.

The operands claim some terabytes without having them, so that whoever began to work would not come back.
"""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.nn import functional as F

SIZES = [2 ** 20, 2 ** 10, 2 ** 10]


def vast(*shape):
    """An array of one number, read everywhere."""
    return lnb.asarray(np.broadcast_to(np.float32(1), shape))


def image(ndim, channels=4):
    return vast(2 ** 10, channels, *SIZES[:ndim])


def weight(ndim, filters=6, channels=4, taps=3):
    return vast(filters, channels, taps, *(3,) * (ndim - 1))


def conv(ndim, *arguments, **options):
    return getattr(F, f"conv{ndim}d")(*arguments, **options)


def transposed(ndim, *arguments, **options):
    return getattr(F, f"conv_transpose{ndim}d")(*arguments, **options)


def pool(kind, ndim, *arguments, **options):
    return getattr(F, f"{kind}_pool{ndim}d")(*arguments, **options)


CALLS = {
    "kernel larger than the input": (lambda n: conv(n, image(n), weight(n, taps=2 ** 20 + 1)), "{wide}.*{size}"),
    "kernel larger than the padded input": (lambda n: conv(n, image(n), weight(n, taps=2 ** 20 + 8), padding=3),
                                            "{wide8}.*{size}"),
    "dilated kernel larger than the input": (lambda n: conv(n, image(n), weight(n), dilation=2 ** 19), "{size}"),
    "channels of the weight": (lambda n: conv(n, image(n), weight(n, channels=3)), "4.*3|3.*4"),
    "channels in groups": (lambda n: conv(n, image(n), weight(n, channels=1), groups=3), "4.*3|3.*4"),
    "filters in groups": (lambda n: conv(n, image(n), weight(n, 7, 2), groups=2), "7.*2|2.*7"),
    "no groups": (lambda n: conv(n, image(n), weight(n), groups=0), "0"),
    "stride 0": (lambda n: conv(n, image(n), weight(n), stride=0), "stride.*0"),
    "negative stride": (lambda n: conv(n, image(n), weight(n), stride=-2), "stride.*-2"),
    "negative dilation": (lambda n: conv(n, image(n), weight(n), dilation=-1), "dilation.*-1"),
    "negative padding": (lambda n: conv(n, image(n), weight(n), padding=-1), "padding.*-1"),
    "more strides than axes": (lambda n: conv(n, image(n), weight(n), stride=(1,) * (n + 1)), "stride"),
    "axes of the input": (lambda n: conv(n, vast(2, *SIZES[:n - 1]), weight(n)), "axes"),
    "axes of the weight": (lambda n: conv(n, image(n), vast(*(4,) * (n + 1))), "axes"),
    "bias": (lambda n: conv(n, image(n), weight(n), lnb.ones(5, dtype="float32")), "5.*6|6.*5"),
    "transposed: channels": (lambda n: transposed(n, image(n), weight(n)), "4.*6|6.*4"),
    "transposed: groups": (lambda n: transposed(n, image(n), weight(n, 4), groups=3), "4.*3|3.*4"),
    "transposed: output_padding": (lambda n: transposed(n, image(n), weight(n, 4), stride=2, output_padding=2),
                                   "output_padding.*2.*stride.*2"),
    "transposed: negative output_padding": (lambda n: transposed(n, image(n), weight(n, 4), output_padding=-1),
                                            "output_padding.*-1"),
    "transposed: bias": (lambda n: transposed(n, image(n), weight(n, 4), lnb.ones(5, dtype="float32")), "5.*4|4.*5"),
    "transposed: padding": (lambda n: transposed(n, image(n), weight(n, 4), padding=2 ** 20), "padding.*1048576"),
    "transposed: stride": (lambda n: transposed(n, image(n), weight(n, 4), stride=0), "stride.*0"),
    "maxima: kernel larger than the input": (lambda n: pool("max", n, image(n), 2 ** 20 + 1), "{wide}.*{size}"),
    "maxima: padding": (lambda n: pool("max", n, image(n), 3, padding=2), "padding.*2.*3"),
    "maxima: negative padding": (lambda n: pool("max", n, image(n), 3, padding=-1), "padding.*-1"),
    "maxima: stride": (lambda n: pool("max", n, image(n), 3, -1), "stride.*-1"),
    "maxima: dilation": (lambda n: pool("max", n, image(n), 3, dilation=0), "dilation.*0"),
    "maxima: axes": (lambda n: pool("max", n, vast(*SIZES[:n]), 3), "axes"),
    "averages: kernel": (lambda n: pool("avg", n, image(n), 0), "kernel_size.*0"),
    "averages: padding": (lambda n: pool("avg", n, image(n), 3, padding=2), "padding.*2.*3"),
    "averages: divisor": (lambda n: pool("avg", max(n, 2), image(max(n, 2)), 3, divisor_override=0), "divisor.*0"),
    "norms: stride": (lambda n: pool("lp", n, image(n), 2, 3, -1), "stride.*-1"),
    "adaptive: no results": (lambda n: pool("adaptive_avg", n, image(n), 0), "0"),
    "adaptive: sizes": (lambda n: pool("adaptive_max", n, image(n), (1,) * (n + 1)), "output_size"),
}


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("name", CALLS)
def test_bad_geometry_is_refused_before_any_work(name, ndim):
    call, text = CALLS[name]
    match = text.format(wide=2 ** 20 + 1, wide8=2 ** 20 + 8, size=2 ** 20)
    with pytest.raises(errors.ShapeError, match=match) as caught:
        call(ndim)
    found = str(caught.value)
    assert found.split(":")[0].startswith(("conv", "max", "avg", "lp", "adaptive"))
    assert "\n" not in found and found.rstrip().endswith(".")


@pytest.mark.parametrize("ndim", [2])
@pytest.mark.parametrize(("call", "text"), [
    (lambda: F.unfold(vast(2 ** 20, 4, 2 ** 10, 2 ** 10), 2 ** 10 + 1), "1025"),
    (lambda: F.unfold(vast(2 ** 20, 4, 2 ** 10, 2 ** 10), 3, stride=0), "stride.*0"),
    (lambda: F.fold(vast(2 ** 20, 10, 2 ** 20), (9, 9), 3), "10"),
    (lambda: F.max_unpool2d(vast(2, 4, 5, 5), np.zeros((2, 4, 5, 4), np.int64), 2), "5, 4")])
def test_bad_geometry_of_folding_is_refused(call, text, ndim):
    with pytest.raises(errors.ShapeError, match=text):
        call()

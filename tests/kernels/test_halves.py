"""float16 and bfloat16 to float32 and back against NumPy and ml_dtypes: every number, every width."""

import ml_dtypes
import numpy as np
import pytest

from lucid_nb.kernels import halves

HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_every_number_is_widened(width, dtype):
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    np.testing.assert_array_equal(halves.widened(x), x.astype(np.float32), strict=True)
    turned = x.reshape(256, 256).T
    assert halves.widened(turned).flags.f_contiguous
    np.testing.assert_array_equal(halves.widened(turned), turned.astype(np.float32))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_numbers_and_those_between_them_are_narrowed(width, dtype):
    with np.errstate(all="ignore"):
        x = np.arange(1 << 16, dtype=np.uint16).view(dtype).astype(np.float32)
        between = (x[:-1].astype(np.float64) + x[1:]) / 2
        beyond = np.nextafter(between.astype(np.float32), np.float32(np.inf), dtype=np.float32)
        given = np.concatenate([x, between.astype(np.float32), beyond, np.float32([np.nan, -np.nan, np.inf, 3e38])])
        found, expected = halves.narrowed(given, dtype), given.astype(dtype)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))     # NaN are equal in float32


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 4095, 4097])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_counts_around_vectors_and_blocks(width, dtype, count):
    x = np.linspace(-3, 3, count, dtype=np.float32)
    np.testing.assert_array_equal(halves.narrowed(x, dtype), x.astype(dtype), strict=True)
    np.testing.assert_array_equal(halves.widened(x.astype(dtype)), x.astype(dtype).astype(np.float32), strict=True)


@pytest.mark.parametrize("shape", [(2, 1), (4, 31), (6, 33), (3, 2, 70), (5, 7), (1, 4), (2, 0)], ids=str)
def test_words_of_rows_hold_two_rows_each(width, shape):
    x = np.arange(np.prod(shape), dtype=np.uint16).reshape(shape).view(ml_dtypes.bfloat16)
    rows = shape[-2] + shape[-2] % 2
    padded = np.zeros((*shape[:-2], rows, shape[-1]), ml_dtypes.bfloat16)
    padded[..., :shape[-2], :] = x
    expected = padded.view(np.uint16)[..., ::2, :] + (padded.view(np.uint16)[..., 1::2, :].astype(np.uint32) << 16)
    for given in (x, np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)):
        np.testing.assert_array_equal(np.ascontiguousarray(halves.words_of_rows(given)).view(np.uint32), expected)

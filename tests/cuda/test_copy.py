"""Casts, fills, ranges and movements against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import lucid_nb.cuda as table

pytestmark = pytest.mark.cuda_simulator
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(name) for name in ("bool", "int8", "int64", "uint16", "float16", "float32", "float64", "complex64")]
VALUES = np.array([[0, 1, 2.5, 100], [3, 0.4375, 7, 65]])


@pytest.mark.parametrize("target", [*DTYPES, BFLOAT16], ids=str)
def test_cast_equals_astype(target):
    for source in (*DTYPES, BFLOAT16):
        host = VALUES.astype(source)
        with np.errstate(all="ignore"):
            real_part = source.kind == "c" and (target.kind in "iuf" or target == BFLOAT16)
            expected = (host.real if real_part else host).astype(target)
        got = table.to_numpy(table.cast(table.from_numpy(host), target))
        assert got.dtype == target
        np.testing.assert_array_equal(got, expected, err_msg=str(source))


def test_cast_to_bfloat16_rounds_to_even_and_keeps_nan():
    bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0xFF800000, 0x7FC00001, 0x7F800001, 0x00000001,
                     0x80000000], "uint32")
    host = bits.view("float32")
    got = table.to_numpy(table.cast(table.from_numpy(host), BFLOAT16))
    with np.errstate(invalid="ignore"):
        expected = host.astype(BFLOAT16)
    np.testing.assert_array_equal(got.astype("float32"), expected.astype("float32"))
    assert np.signbit(got[-1])


def test_negative_floats_wrap_in_unsigned_integers():
    host = np.array([-1.0, -2.7, 300.0], "float32")
    got = table.to_numpy(table.cast(table.from_numpy(host), np.dtype("uint8")))
    np.testing.assert_array_equal(got, host.astype("int64").astype("uint8"))


def test_copy_of_a_view_is_fresh_and_contiguous():
    host = np.arange(12.0).reshape(3, 4)
    view = table.permute(table.from_numpy(host), (1, 0))
    fresh = table.copy(view)
    assert fresh.is_contiguous and fresh.memory is not view.memory
    np.testing.assert_array_equal(table.to_numpy(fresh), host.T)


def test_assign_broadcasts_into_a_strided_view():
    host = np.zeros((4, 6), "int32")
    device = table.from_numpy(host)
    row = np.arange(3, dtype="int32")
    table.assign(table.slice(device, (slice(None, None, 2), slice(5, None, -2))), table.from_numpy(row))
    host[::2, 5::-2] = row
    np.testing.assert_array_equal(table.to_numpy(device), host)


def test_assign_reads_an_overlapping_source_first():
    host = np.arange(90.0)
    device = table.from_numpy(host)
    table.assign(table.slice(device, (slice(1, None),)), table.slice(device, (slice(None, -1),)))
    host[1:] = host[:-1].copy()
    np.testing.assert_array_equal(table.to_numpy(device), host)


@pytest.mark.parametrize("dtype", [*DTYPES, BFLOAT16], ids=str)
def test_full_equals_numpy(dtype):
    got = table.to_numpy(table.full((2, 3), 1, dtype))
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, np.full((2, 3), 1, dtype))
    assert table.full((0,), 1, dtype).shape == (0,)


@pytest.mark.parametrize("start, step, count, dtype", [
    (0, 1, 7, "int64"), (5, -2, 4, "int8"), (0, 0.1, 50, "float32"), (1, 0.3, 9, "float16"), (-2.5, 0.7, 50, "float64"),
    (0, 1, 0, "float32"),
])
def test_iota_equals_arange(start, step, count, dtype):
    got = table.to_numpy(table.iota(start, step, count, np.dtype(dtype)))
    expected = np.arange(count, dtype=dtype) if (start, step) == (0, 1) else np.arange(
        start, start + (count - 0.5) * step, step, dtype)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected[:count])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_real_is_a_view_and_conjugate_is_fresh(dtype):
    host = (np.arange(12) - 1j * np.arange(12)[::-1]).reshape(3, 4).astype(dtype)
    device = table.from_numpy(host)
    view = table.slice(device, (slice(1, None), slice(None, None, -2)))
    np.testing.assert_array_equal(table.to_numpy(table.real(view)), host[1:, ::-2].real)
    np.testing.assert_array_equal(table.to_numpy(table.conjugate(view)), host[1:, ::-2].conj())
    table.assign(table.real(view), table.full((1,), 7, table.dtype_of(table.real(view))))
    host.real[1:, ::-2] = 7
    np.testing.assert_array_equal(table.to_numpy(device), host)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concatenate_equals_numpy(axis):
    parts = []
    for size in (1, 0, 3):
        shape = [2, 3, 2]
        shape[axis] = size
        parts.append(np.random.default_rng(size).standard_normal(shape).astype("float32"))
    device = [table.from_numpy(part) for part in parts[:2]]
    device.append(table.permute(table.from_numpy(parts[2].transpose(2, 1, 0)), (2, 1, 0)))
    np.testing.assert_array_equal(table.to_numpy(table.concatenate(device, axis)), np.concatenate(parts, axis))


def test_pad_equals_numpy():
    host = np.arange(6.0).reshape(2, 3)
    got = table.pad(table.from_numpy(host), ((1, 0), (2, 1)), -1.5)
    np.testing.assert_array_equal(table.to_numpy(got), np.pad(host, ((1, 0), (2, 1)), constant_values=-1.5))

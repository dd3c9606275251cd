"""Random bits against NumPy's Philox of another width and the published vectors, and the CPU's bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb.cuda as table
from lucid_nb import kernels

pytestmark = pytest.mark.cuda_simulator
X = np.random.default_rng(1).standard_normal((3, 7, 50))


def call(entry, *operands):
    return table.to_numpy(getattr(table, entry)(*operands))


def test_the_words_are_those_of_the_reference():
    # Known answers of Random123 for Philox4x32-10: counter and key of zeros.
    words = call("random_bits", 0, 0, 0, 1024)[::256]
    assert [hex(word) for word in words] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]


@given(count=st.integers(0, 2100), keys=st.tuples(*[st.integers(0, 2**32 - 1)] * 2), stream=st.integers(0, 2**64 - 1))
def test_bits_are_the_cpus(count, keys, stream):
    found = call("random_bits", *keys, stream, count)
    assert found.dtype == np.uint32
    np.testing.assert_array_equal(found, kernels.random_bits(*keys, stream, count))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("moved, dropped", [(0.0, 0.0), (0.25, -1.5)])
def test_dropout_is_the_cpus(dtype, moved, dropped):
    x = X.astype(dtype)
    rest = (5, 7, 2**63 + 3, 1 << 31, 2.0, moved, dropped)
    found = call("dropout", table.permute(table.from_numpy(x), (2, 0, 1)), *rest)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, kernels.dropout(x.transpose(2, 0, 1), *rest))
    assert call("dropout", table.from_numpy(x[:0]), *rest).shape == (0, 7, 50)

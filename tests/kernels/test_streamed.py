"""Large results that are stored past the caches, and kernels in which an operand is one repeated value."""

import numpy as np
import pytest
from reported import conditions

import lucid_nb as lnb
from lucid_nb.kernels import copying

COUNT = copying.STREAMED // 8 + 1003          # elements of float64
OPS = {"add": lambda m, x, y: m.add(x, y), "scaled": lambda m, x, y: m.multiply(x, 3.0),
       "sine": lambda m, x, y: m.sin(x), "divided": lambda m, x, y: m.floor_divide(x, 0.25),
       "logarithm": lambda m, x, y: m.log(x)}


@pytest.mark.parametrize("shift", [0, 1, 5])
@pytest.mark.parametrize("op", OPS)
def test_streamed_results_have_the_bits_of_small_ones(op, shift, draw, count):
    """Wherever the operands begin."""
    x, y = draw.random(COUNT + 8)[shift:COUNT + shift] + 0.5, draw.random(COUNT + 8)[8 - shift:][:COUNT]
    found = OPS[op](lnb, lnb.asarray(x), lnb.asarray(y)).numpy()
    pieces = [OPS[op](lnb, lnb.asarray(x[i:i + 1000].copy()), lnb.asarray(y[i:i + 1000].copy())).numpy()
              for i in range(0, COUNT, 1000)]
    np.testing.assert_array_equal(found, np.concatenate(pieces))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64", "complex128"])
def test_streamed_results_of_every_size_of_element(dtype, draw):
    x = draw.integers(0, 50, copying.STREAMED // np.dtype(dtype).itemsize + 77).astype(dtype)
    np.testing.assert_array_equal((lnb.asarray(x) + lnb.asarray(x)).numpy(), x + x, strict=True)
    np.testing.assert_array_equal((lnb.asarray(x) + 1).numpy(), x + 1, strict=True)


def test_writing_into_unaligned_and_own_memory(draw):
    x = draw.random(COUNT)
    raw = np.empty(8 * COUNT + 3, np.uint8)[3:].view(np.float64)            # no element begins a word
    for target in (raw, np.empty(COUNT + 1)[1:], x.copy()):
        target[...] = x
        ours = lnb.asarray(target)
        np.testing.assert_array_equal(lnb.add(ours, 1.0, out=ours).numpy(), x + 1)
        ours += 2.0
        np.testing.assert_array_equal(ours.numpy(), x + 1 + 2)


REPEATED = [("floor_divide", np.int64, [7, -7, np.iinfo(np.int64).min], [3, 0, -1]),
            ("remainder", np.int32, [7, -7, np.iinfo(np.int32).min], [3, 0, -1]),
            ("floor_divide", np.uint8, [7, 255], [3, 0, 255]),
            ("floor_divide", np.float32, [7.0, np.inf, np.nan, 3e38], [3.0, 0.0, 1e-30, np.inf]),
            ("power", np.float64, [0.0, 2.0, -2.0, np.inf], [-1.0, 5e3, 0.5, np.nan]),
            ("divide", np.float32, [0.0, 1.0, 3e38], [0.0, 1e-30, 2.0])]


@pytest.mark.parametrize("size", [40_000, 300_000])
@pytest.mark.parametrize("name, dtype, values, numbers", REPEATED,
                         ids=[f"{row[0]}-{row[1].__name__}" for row in REPEATED])
def test_values_and_conditions_beside_a_repeated_number_are_numpys(name, dtype, values, numbers, size, count):
    """Of a number there is one element in memory, which what tells the conditions must not read beyond."""
    ours, peer = getattr(lnb, name), getattr(np, name)
    # NumPy takes the sign of a floored quotient of 0 from a division that may underflow, though the result does not.
    ignored = {"under": "ignore"} if name == "floor_divide" else {}
    for value in values:
        x = np.full(size, 2, dtype)
        x[size - 5] = value
        for number in np.array(numbers, dtype):
            for pair in ((x, number), (np.full(size, number), np.asarray(value, dtype)[()])):
                for operands in (pair, pair[::-1]):
                    given = [lnb.asarray(each) for each in operands]
                    assert conditions(ours, given, **ignored) == conditions(peer, operands, **ignored), operands
                    with np.errstate(all="ignore"):
                        found, wanted = ours(*given).numpy(), peer(*operands)
                    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=0, strict=True)

"""Kernels of fused programs against NumPy in float64: widths of vectors, lengths of rows, layouts, large arguments."""

import numpy as np
import pytest
from scipy import special

from lucid_nb import config
from lucid_nb.expr import m, read
from lucid_nb.kernels.fused import WIDE, kernel, line_of
from lucid_nb.kernels.fused_passes import Analysis
from lucid_nb.program import ALONG, COLUMNS, ROW, RowProgram, type_program

RANDOM = np.random.default_rng(0)
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])


def program(outputs, inputs, kinds, reductions, results, scalars=0, stored=None):
    """Outputs over inputs of these dtypes, the operands of reductions first."""
    typed = type_program(outputs, inputs)
    return RowProgram(typed, kinds, scalars, reductions, results)


def softmax_program(dtype):
    """Softmax, the sum of its numerators, and its gradient's sum over rows: all kinds of results."""
    x, g, scale, top, total, moment = map(read, range(6))
    power = m.exp(x * scale - top)
    share = power / total
    slope = share * (g - moment)
    return program((x * scale, power, share * g, share, total, slope), [dtype] * 6, (ALONG, ALONG),
                   (("max", 0), ("sum", 1), ("sum", 2)), (ALONG, ROW, COLUMNS), scalars=1)


@each_dtype
@pytest.mark.parametrize("shape", [(1, 2), (3, 5), (2, 16, 17), (70, 33), (4, 1025), (33, 3000)], ids=str)
def test_rows_of_any_length_at_every_width(width, dtype, shape):
    x, g = (RANDOM.standard_normal(shape).astype(dtype) for _ in range(2))
    share, total, columns = kernel(softmax_program(dtype))([x, g], (1.5,), shape[:-1], shape[-1])
    wide, slope = 1.5 * x.astype(np.float64), g.astype(np.float64)
    exact = special.softmax(wide, -1)
    sums = np.exp(wide - wide.max(-1, keepdims=True)).sum(-1, keepdims=True)
    slopes = exact * (slope - (exact * slope).sum(-1, keepdims=True))
    epsilon = np.finfo(dtype).eps
    np.testing.assert_allclose(share, exact, rtol=20 * epsilon)
    np.testing.assert_allclose(total, sums, rtol=10 * epsilon)
    terms = (exact * (np.abs(slope) + np.abs(slope).max())).reshape(-1, shape[-1]).sum(0)
    assert columns.shape == shape[-1:]
    assert np.all(np.abs(columns - slopes.reshape(-1, shape[-1]).sum(0)) <= 20 * epsilon * terms)


def test_what_is_dear_is_computed_once_and_kept():
    plan = Analysis(softmax_program("float32"))
    assert [plan.steps[number].op for number in plan.scratch] == ["exp"]
    assert [len(each.writes) for each in plan.passes] == [0, 1, 0, 0]
    assert all("exp" not in [plan.steps[number].op for number in each.steps] for each in plan.passes[2:])


@each_dtype
def test_nothing_is_written_beside_the_result(width, dtype):
    power = kernel(program((m.exp(read(0)),), [dtype], (ALONG,), (), (ALONG,)))
    for size in (1, 15, 16, 33, 100):
        room = np.full(size + 200, 7, dtype)
        x, result = np.zeros((1, size), dtype), room[100:100 + size].reshape(1, size)
        power._run([x], [result], (), (1,), size)
        assert np.all(room[:100] == 7) and np.all(room[100 + size:] == 7) and np.all(result == 1)


@each_dtype
@pytest.mark.parametrize("size", [WIDE + 1, 3 * WIDE, 5 * WIDE + 7])
def test_programs_without_rows_take_everything_at_once(dtype, size):
    x, w = RANDOM.standard_normal((2, size)).astype(dtype), np.asarray(3, dtype)
    (found,) = kernel(program((read(0) * read(1),), [dtype] * 2, (ALONG, ROW), (), (ALONG,)))([x, w], (), (2,), size)
    assert np.array_equal(found, x * 3)


@each_dtype
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_arguments_take_the_form_that_is_right_for_them(dtype, name):
    x = RANDOM.standard_normal((3, 2000)).astype(dtype)
    x[1, 1500], x[2, 3], x[0, 0] = 1e20, np.nan, 1e7
    (found,) = kernel(program((getattr(m, name)(read(0)),), [dtype], (ALONG,), (), (ALONG,)))([x], (), (3,), 2000)
    exact = getattr(np, name)(x.astype(np.longdouble)).astype(dtype)
    np.testing.assert_allclose(found, exact, rtol=8 * np.finfo(dtype).eps, atol=1e-30)


@pytest.mark.parametrize("stored", ["float16", "bfloat16"])
def test_16_bits_are_widened_and_rounded_at_every_width(width, stored):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, stored) if stored == "bfloat16" else stored)
    x = RANDOM.standard_normal((3, 37)).astype(dtype)
    (found,) = kernel(program((read(0) * 3 + 1,), [stored], (ALONG,), (), (ALONG,)))([x], (), (3,), 37)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype(np.float64), (x.astype(np.float32) * 3 + 1).astype(dtype).astype(float))


@pytest.mark.parametrize("lead,shape", [((4, 3), (4, 3, 8)), ((4, 3), (3, 8)), ((4, 3), (4, 1, 8)), ((4, 3), (8,)),
                                        ((2, 3, 4), (2, 1, 4, 8)), ((1,), (1, 8))], ids=str)
@pytest.mark.parametrize("layout", ["plain", "reversed", "strided"])
def test_rows_lie_where_broadcasting_puts_them(lead, shape, layout):
    x = RANDOM.standard_normal(shape)
    x = x[::-1] if layout == "reversed" and x.ndim > 1 else x
    x = np.repeat(x, 2, 0)[::2] if layout == "strided" and x.ndim > 1 else x
    line = line_of(x.shape, x.strides, lead, 8, 8)
    assert not line.is_copied
    y = RANDOM.standard_normal((*lead, 8))
    (found,) = kernel(program((read(0) + read(1),), ["float64"] * 2, (ALONG, ALONG), (), (ALONG,)))([x, y], (), lead, 8)
    assert np.array_equal(found, x + y)


def test_bits_do_not_depend_on_threads(monkeypatch):
    x, g = (RANDOM.standard_normal((3000, 100)).astype(np.float32) for _ in range(2))
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(config, "num_threads", count)
        found.append(kernel(softmax_program("float32"))([x, g], (1.5,), (3000,), 100))
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other))

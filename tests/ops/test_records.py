"""Every elementwise record: values, dtypes, layouts, sizes, threads and gradients, from what the record says of itself.

A new record is tested here without an edit. Its oracle is a function of NumPy or SciPy (evaluated more precisely, see
oracles.py), its gradient is held to finite differences.
"""

import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import dtypes
from lucid_nb.errors import DTypeError
from lucid_nb.testing import AWKWARD, LAYOUTS, assert_close, check_grad, laid_out

from . import oracles
from .oracles import call, drawn, expected, hosts, plain, records, results, same

RECORDS = records()
DIFFERENTIABLE = [name for name, op in RECORDS.items() if oracles.is_differentiable(op)]
SILENT = dict(all="ignore")
NUMERIC = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
           "complex64", "complex128")
# What other devices may add to the bound of a record, their functions being the vendor's. On CUDA gelu and ndtr expand
# in float32, where the rounded quotient x / sqrt(2) costs x**2 / 2 units; so does the rounded cubic of gelu_tanh.
DEVICE_ULP = {"cpu": 0, "mlx": 1, "cuda": 2, ("cuda", "gelu"): 10, ("cuda", "ndtr"): 10,
              ("cuda", "gelu_tanh"): 16, ("mlx", "gelu_tanh"): 16}
SHORT_AND_LONG = ("float16", "bfloat16", "float64")
DTYPE_OF_WEEK = SHORT_AND_LONG[oracles.SEED % 3]
MLX_DTYPES = tuple(dtype for dtype in oracles.OTHERS if dtype != "complex128")


@pytest.fixture
def two_threads():
    """Two threads, set back afterwards."""
    before = lnb.get_num_threads()
    yield
    lnb.set_num_threads(before)


def check_values(name, inputs, device="cpu"):
    """Hold a record's values and dtypes to its oracle."""
    op = RECORDS[name]
    try:
        wanted = expected(op, inputs, device)
    except ValueError:                                   # integers to negative powers
        inputs = [np.maximum(x, 0) for x in inputs]
        wanted = expected(op, inputs, device)
    with np.errstate(**SILENT):
        found = hosts(call(name)(*[oracles.on(device, x) for x in inputs]))
    assert len(found) == len(wanted)
    for got, (exact, rounded) in zip(found, wanted):
        assert got.dtype == rounded.dtype
        if dtypes.is_inexact(got.dtype) and "c" in {x.dtype.kind for x in inputs}:
            assert_close(got, exact, rtol=8 * float(np.finfo(got.dtype).eps))
        elif dtypes.is_inexact(got.dtype):
            check_floats(op, inputs, device, got, exact, rounded)
        else:
            assert np.array_equal(got, rounded)


def check_floats(op, inputs, device, got, exact, rounded):
    """Units in the last place, NaN, infinities and the signs of zeros."""
    extra = DEVICE_ULP.get((device, op.name), DEVICE_ULP[device]) if op.facts.ulp else 0
    is_told = ~np.isnan(rounded.astype(float)) | np.any([np.isnan(x.astype(float)) for x in inputs], axis=0)
    is_told |= op.facts.oracle.startswith("numpy.")     # elsewhere 0 * inf may come from how the oracle is written
    absolute = oracles.ABSOLUTE.get(op.name, 0) * float(ml_dtypes.finfo(got.dtype).eps)
    assert_close(got[is_told], exact[is_told], ulp=oracles.allowance(op, got.dtype) + extra, atol=absolute)
    zero = (rounded == 0) & is_told & (device == "cpu" or op.facts.ulp == 0)      # of expansions it may differ
    assert np.array_equal(np.signbit(got[zero]), np.signbit(rounded[zero]))


# ------------------------------------------------------------------------------------------------ values
@pytest.mark.parametrize("name, dtype", oracles.cases())
def test_values_follow_the_oracle(name, dtype):
    op = RECORDS[name]
    check_values(name, drawn(op, dtype, oracles.COUNT))
    if not dtype.startswith("complex"):
        check_values(name, oracles.awkward(op, dtype))


@pytest.mark.parametrize("name, dtype", oracles.cases(fixed=("float32",), sampled=MLX_DTYPES, count=1))
def test_values_on_mlx_follow_the_oracle(name, dtype):
    pytest.importorskip("mlx.core", reason="needs MLX, which exists for Apple silicon and for Linux")
    op = RECORDS[name]
    keys = oracles.keys_of(op, dtypes.as_dtype("test", dtype))
    if np.complex128 in oracles.result_dtypes(op, keys, "mlx"):
        with pytest.raises(DTypeError, match="complex128 does not exist on mlx"):
            call(name)(*[oracles.on("mlx", x) for x in drawn(op, dtype, 3)])
        return
    check_values(name, drawn(op, dtype, oracles.COUNT), "mlx")
    if not dtype.startswith("complex"):
        check_values(name, oracles.awkward(op, dtype), "mlx")


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("name, dtype", oracles.cases(fixed=("float32",), count=1))
def test_values_on_cuda_follow_the_oracle(name, dtype):
    check_values(name, drawn(RECORDS[name], dtype, 16), "cuda")
    if not dtype.startswith("complex"):
        check_values(name, [x[::7][:40] for x in oracles.awkward(RECORDS[name], dtype)], "cuda")


@pytest.mark.parametrize("name", RECORDS)
def test_lists_and_scalars_are_operands(name):
    op = RECORDS[name]
    inputs = drawn(op, plain(op, "float64"), 3, seed=4)
    with_lists = hosts(call(name)(*[x.tolist() for x in inputs]))
    assert same(with_lists, hosts(call(name)(*map(lnb.asarray, inputs))))
    assert same(hosts(call(name)(*[x[0].item() for x in inputs])), [x[0] for x in with_lists])


# ------------------------------------------------------------------------------------------------ dtypes
def numpy_result(function, operands):
    """The dtypes of NumPy's results, None where it refuses."""
    try:
        with np.errstate(**SILENT):
            return [result.dtype for result in results(function(*operands))]
    except (TypeError, ValueError):
        return None


def our_result(op, keys):
    """The dtypes of the record's results, None where it refuses."""
    try:
        return oracles.result_dtypes(op, keys)
    except DTypeError:
        return None


def plain_oracles():
    """Records whose oracle is a function of NumPy, not an expression."""
    return [name for name, op in RECORDS.items() if op.facts.oracle.startswith("numpy.") and "(" not in op.facts.oracle]


@pytest.mark.parametrize("name", plain_oracles())
def test_result_dtype_is_that_of_numpy(name):
    op, function = RECORDS[name], getattr(np, RECORDS[name].facts.oracle[len("numpy."):])
    real = [dtype for dtype in ("bool", *NUMERIC) if oracles.is_numpys(op, dtype)]
    differing = []
    for first in real:
        for second in real if op.arity > 1 else real[:1]:
            keys = [np.dtype(d) for d in (first, second, second)[:op.arity]]
            wanted, got = numpy_result(function, [np.ones(1, key) for key in keys]), our_result(op, keys)
            differing += [(first, second, wanted, got)] if wanted != got else []
    assert not differing


@pytest.mark.parametrize("name", [name for name in plain_oracles() if RECORDS[name].arity == 2])
def test_python_scalars_are_weak(name):
    op, function = RECORDS[name], getattr(np, RECORDS[name].facts.oracle[len("numpy."):])
    differing = []
    for dtype in [d for d in ("bool", *NUMERIC) if oracles.is_numpys(op, d)]:
        for scalar in (True, 2, 2.0):
            for place in (0, 1):
                if op.rule.integers and place == 0:        # there the exponent decides, in NumPy
                    continue
                array = np.ones(1, dtype)
                operands = (scalar, array) if place == 0 else (array, scalar)
                keys = [type(scalar), array.dtype] if place == 0 else [array.dtype, type(scalar)]
                wanted, got = numpy_result(function, operands), our_result(op, keys)
                differing += [(dtype, scalar, place, wanted, got)] if wanted != got else []
    assert not differing


@pytest.mark.parametrize("name", [name for name in plain_oracles() if RECORDS[name].arity == 2])
def test_scalar_and_mixed_operands_give_numpys_values(name):
    op, function = RECORDS[name], getattr(np, RECORDS[name].facts.oracle[len("numpy."):])
    (x, y), narrow = drawn(op, plain(op), 7), np.array([1, 2, 3, 1, 2, 3, 1], "int16")
    wide = y.astype("float64" if y.dtype.kind == "f" else "int64")
    for operands in [(x, half(op, y)), (half(op, x), y), (x, narrow), (narrow, y), (x, wide)]:
        found = results(call(name)(*[lnb.asarray(o) if isinstance(o, np.ndarray) else o for o in operands]))
        wanted = results(function(*operands))
        assert [result.dtype for result in found] == [result.dtype for result in wanted]
        for got, exact in zip(found, wanted):
            assert_close(got, exact, ulp=op.facts.ulp + 1 if op.facts.ulp else 0)


def half(op, like):
    """Half the upper bound of the last samples, a Python number of the kind of an array."""
    return float(op.facts.samples[1][1]) / 2 if like.dtype.kind == "f" else int(op.facts.samples[1][1]) // 2


# ------------------------------------------------------------------------------- layouts, sizes, threads
@pytest.mark.parametrize("name", RECORDS)
def test_layout_changes_no_bit(name):
    op = RECORDS[name]
    inputs = drawn(op, plain(op), (4, 6, 5))
    wanted = hosts(call(name)(*map(lnb.asarray, inputs)))
    for layout in LAYOUTS[:4]:
        assert same(hosts(call(name)(*[lnb.asarray(laid_out(x, layout)) for x in inputs])), wanted), layout
    mixed = [laid_out(x, layout) for x, layout in zip(inputs, ("F", "negative", "strided"))]
    assert same(hosts(call(name)(*map(lnb.asarray, mixed))), wanted)


@pytest.mark.parametrize("name", RECORDS)
def test_broadcast_operands_equal_repeated_ones(name):
    op = RECORDS[name]
    shapes = [(3, 1, 5), (4, 1), (5,)][:op.arity] if op.arity > 1 else [(5,)]
    inputs = [x.ravel()[:int(np.prod(shape))].reshape(shape) for x, shape in zip(drawn(op, plain(op), 60), shapes)]
    whole = np.broadcast_arrays(*inputs) if op.arity > 1 else [np.broadcast_to(inputs[0], (3, 4, 5))]
    wanted = hosts(call(name)(*[lnb.asarray(x.copy()) for x in whole]))
    assert same(hosts(call(name)(*map(lnb.asarray, whole))), wanted)                    # zero strides
    if op.arity > 1:
        assert same(hosts(call(name)(*map(lnb.asarray, inputs))), wanted)


@pytest.mark.parametrize("name", RECORDS)
def test_empty_and_zero_dimensional_operands(name):
    op = RECORDS[name]
    empty = hosts(call(name)(*[lnb.asarray(x) for x in drawn(op, plain(op), (0, 3))]))
    assert [x.dtype for x in empty] == our_result(op, oracles.keys_of(op, np.dtype(plain(op))))
    assert {x.shape for x in empty} == {(0, 3)}
    inputs = drawn(op, plain(op), 1)
    values = hosts(call(name)(*[lnb.asarray(x[0]) for x in inputs]))
    assert {x.shape for x in values} == {()}
    assert same(values, [x[0] for x in hosts(call(name)(*map(lnb.asarray, inputs)))])


@pytest.mark.parametrize("size", [32767, 32768, 150_001])
@pytest.mark.parametrize("name", RECORDS)
def test_size_and_threads_change_no_bit(name, size, two_threads):
    op = RECORDS[name]
    inputs = drawn(op, plain(op), size)
    pieces = [hosts(call(name)(*[lnb.asarray(x[start:start + 8191]) for x in inputs]))
              for start in range(0, size, 8191)]
    wanted = [np.concatenate(parts) for parts in zip(*pieces)]
    for threads in (1, 2):
        lnb.set_num_threads(threads)
        assert same(hosts(call(name)(*map(lnb.asarray, inputs))), wanted), threads


@pytest.mark.parametrize("name", RECORDS)
def test_large_operands_in_any_layout(name, two_threads):
    op = RECORDS[name]
    inputs = drawn(op, plain(op), (181, 7, 33))
    wanted = hosts(call(name)(*[lnb.asarray(x[:90]) for x in inputs]))
    for layout in ("F", "strided", "negative"):
        lnb.set_num_threads(2 if layout == "F" else 1)
        found = hosts(call(name)(*[lnb.asarray(laid_out(x, layout)) for x in inputs]))
        assert same([x[:90] for x in found], wanted), layout


WIDTHS = """
import sys, numpy as np
from tests.ops.oracles import call, drawn, hosts, on, records
found = {}
for name in NAMES:
    for dtype in ("float32", "float64"):
        inputs = [on("cpu", x) for x in drawn(records()[name], dtype, 1009)]
        for number, result in enumerate(hosts(call(name)(*inputs))):
            found[f"{name} {dtype} {number}"] = result
np.savez(sys.argv[1], **found)
"""


@pytest.mark.serial
def test_vector_width_changes_no_bit_where_products_are_fused(tmp_path):
    """Vectors of 128 bit stand for a CPU that rounds a product before it is added: there units may differ, bits not."""
    names = sorted(oracles.random.Random(oracles.SEED).sample(DIFFERENTIABLE, 3))
    found = {}
    for width in ("", "256", "128"):
        path = tmp_path / f"width{width}.npz"
        done = subprocess.run([sys.executable, "-c", WIDTHS.replace("NAMES", repr(names)), str(path)], text=True,
                              env=os.environ | {"LUCID_NB_VECTOR_WIDTH": width}, capture_output=True, check=False,
                              timeout=120, cwd=Path(__file__).parents[2])
        assert done.returncode == 0, done.stderr
        found[width] = dict(np.load(path))
    assert len(found[""]) >= 6
    for key, wanted in found[""].items():
        assert np.array_equal(found["256"][key], wanted, equal_nan=True)
        allowed = 2 * RECORDS[key.split()[0]].facts.ulp + 1
        assert_close(found["128"][key], wanted, ulp=allowed)


# --------------------------------------------------------------------------------------------- warnings
def conditions(function, operands):
    """The floating-point conditions that a call reports."""
    seen = set()
    with np.errstate(all="call", under="ignore", call=lambda kind, flag: seen.add(kind)):
        function(*operands)
    return seen


# NumPy's loops compare the NaN that they are given, which reports it as invalid; ours say nothing of what came as NaN.
COMPARES_NAN = {"logaddexp", "logaddexp2"}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", [name for name in plain_oracles() if name in DIFFERENTIABLE and name != "where"])
def test_warnings_are_those_of_numpy(name, dtype):
    op, function = RECORDS[name], getattr(np, RECORDS[name].facts.oracle[len("numpy."):])
    differing = []
    for operands in zip(*[x.reshape(-1, 1) for x in oracles.awkward(op, dtype)]):
        if np.isinf(operands).any() or (name in COMPARES_NAN and np.isnan(operands).any()):
            continue                              # what an infinity raises is left to the C library
        wanted, got = conditions(function, operands), conditions(call(name), list(map(lnb.asarray, operands)))
        differing += [(*operands, wanted, got)] if wanted != got else []
    assert not differing


# -------------------------------------------------------------------------------------------- gradients
def shapes_of(op):
    """Small shapes that broadcast."""
    return [(2, 3), (3,), (2, 1)][:op.arity]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_follows_finite_differences(name):
    op = RECORDS[name]
    inputs = drawn(op, "float64", 6)
    check_grad(call(name), *[x[:int(np.prod(shape))].reshape(shape) for x, shape in zip(inputs, shapes_of(op))])


@pytest.mark.parametrize("name", [
    pytest.param(n, marks=[] if n in oracles.random.Random(oracles.SEED).sample(sorted(DIFFERENTIABLE), 6)
                 else pytest.mark.sweep) for n in DIFFERENTIABLE if RECORDS[n].rule.complexes])
def test_complex_gradient_follows_finite_differences(name):
    check_grad(call(name), *drawn(RECORDS[name], "complex128", 3))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_of_nothing_is_zero(name):
    """Zeros absorb: what a later `where` left out must not come back as NaN."""
    op = RECORDS[name]
    inputs = [x[~np.isnan(x)] for x in [np.array(AWKWARD)] * op.arity]
    for number in op.rule.integers:
        inputs[number] = np.array(oracles.EXPONENTS)
    tensors = [lnb.tensor(grid.ravel().copy(), requires_grad=grid.dtype.kind == "f") for grid in np.meshgrid(*inputs)]
    with np.errstate(**SILENT):
        result = differentiable(call(name)(*tensors))
        result.backward(lnb.zeros_like(result))
    for tensor in tensors:
        assert tensor.grad is None or not tensor.grad.to_host().any()


def differentiable(found):
    """The first result that has a gradient."""
    return next(result for result in results(found) if result.requires_grad)


def gradients(name, device, dtype, count, stored="float32"):
    """Gradients of the inputs, which fit into a dtype, for gradients of the result that differ."""
    op = RECORDS[name]
    tensors = [oracles.on(device, x.astype(stored).astype(dtype) if x.dtype.kind == "f" else x)
               for x in drawn(op, "float32", count, seed=1)]
    for tensor in tensors:
        tensor.requires_grad = dtypes.is_inexact(tensor.dtype)
    seeds = np.random.default_rng(2).uniform(0.5, 2, count).astype(stored)
    result = differentiable(call(name)(*tensors))
    result.backward(oracles.on(device, seeds.astype(result.dtype)))
    return [tensor.grad if tensor.grad is None else tensor.grad.to_host() for tensor in tensors]


def compare_gradients(name, device, dtype, count):
    """A device's gradients against those of the CPU in float64."""
    tolerance = {"float64": 1e-13, "float32": 4e-6, "float16": 4e-3, "bfloat16": 3e-2}[dtype]
    for got, wanted in zip(gradients(name, device, dtype, count, dtype),
                           gradients(name, "cpu", "float64", count, dtype)):
        assert (got is None) == (wanted is None)
        if got is not None:
            assert got.dtype == dtype
            assert_close(got, wanted, rtol=tolerance, atol=tolerance * float(np.abs(wanted).max()))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_in_float32_follows_float64(name):
    compare_gradients(name, "cpu", "float32", 50)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_on_mlx_follows_the_cpu(name):
    pytest.importorskip("mlx.core", reason="needs MLX, which exists for Apple silicon and for Linux")
    compare_gradients(name, "mlx", "float32", 50)


@pytest.mark.parametrize("name, dtype", [
    pytest.param(name, dtype, marks=[] if dtype == DTYPE_OF_WEEK else pytest.mark.sweep)
    for name in DIFFERENTIABLE for dtype in SHORT_AND_LONG])
def test_gradient_on_mlx_follows_the_cpu_in_other_dtypes(name, dtype):
    pytest.importorskip("mlx.core", reason="needs MLX, which exists for Apple silicon and for Linux")
    compare_gradients(name, "mlx", dtype, 50)


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_on_cuda_follows_the_cpu(name):
    compare_gradients(name, "cuda", "float32", 6)

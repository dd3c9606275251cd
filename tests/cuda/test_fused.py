"""Fused programs over rows in one launch, against NumPy in float64 and beside the CPU's kernel."""

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import lucid_nb as lnb
import lucid_nb.cuda as table
from lucid_nb.backend import Table
from lucid_nb.cuda import fused, fused_source, runtime
from lucid_nb.expr import Scalar, lift, read
from lucid_nb.fusion import rows
from lucid_nb.fusion.fused import Fused, Runner, Spec

from .conftest import check_launches

pytestmark = pytest.mark.cuda_simulator
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TOLERANCE = {"float64": 1e-13, "float32": 5e-6, "float16": 2e-3, "bfloat16": 2e-2}
RANDOM = np.random.default_rng(0)


def program(lead, cols, dtype):
    """Shares of x * w, a number a row, and sums over rows."""
    x, w, b = read(0), read(1), read(2)
    outputs = [rows.softmax(x * w) * lift(Scalar(0.5)) + b, rows.row_max(x) + rows.row_sum(x * b), x * w - b]
    inputs = [Spec((*lead, cols), dtype), Spec((cols,), dtype), Spec((*lead, 1), dtype)]
    results = [inputs[0], inputs[2], inputs[1]]
    return Fused("fused", outputs, inputs, results, lead, cols)


def expected(x, w, b):
    """The results in float64."""
    x, w, b = (value.astype("float64") for value in (x, w, b))
    return (scipy.special.softmax(x * w, -1) * 0.5 + b, x.max(-1, keepdims=True) + (x * b).sum(-1, keepdims=True),
            (x * w - b).sum(tuple(range(x.ndim - 1))))


def operands(lead, cols, dtype):
    """Random ones."""
    return [RANDOM.standard_normal(shape).astype(dtype) for shape in ((*lead, cols), (cols,), (*lead, 1))]


def check(lead, cols, dtype, hosts, devices):
    """The program is what it is in float64, with the same bits again, by one launch and what adds sums over rows."""
    op, tolerance = program(lead, cols, np.dtype(dtype)), TOLERANCE[np.dtype(dtype).name]
    found = []
    for _ in range(2):
        with runtime.kept_launches() as launched:
            found.append([table.to_numpy(raw) for raw in op.run(devices)])
    first, *others = [name for name, *_ in launched]
    assert first == "fused_rows" and {*others} == {"reduce"}
    for mine, again, wanted, spec in zip(*found, expected(*hosts), op.results):
        assert mine.dtype == spec.dtype and mine.shape == spec.shape
        np.testing.assert_array_equal(mine, again)
        np.testing.assert_allclose(mine.astype("float64"), wanted, rtol=tolerance,
                                   atol=tolerance * (1 + abs(wanted).max()))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", BFLOAT16], ids=str)
@pytest.mark.parametrize("lead, cols", [((5,), 8), ((2, 3), 7), ((40,), 4), ((3,), 64)], ids=str)
def test_rows_of_a_few_accesses(lead, cols, dtype):
    hosts = operands(lead, cols, dtype)
    check(lead, cols, dtype, hosts, [table.from_numpy(host) for host in hosts])


@pytest.mark.parametrize("lead, cols", [((4,), 257), ((3,), 140), ((5, 2), 1)], ids=str)
def test_rows_of_one_element_and_long_ones(lead, cols):
    hosts = operands(lead, cols, "float32")
    check(lead, cols, "float32", hosts, [table.from_numpy(host) for host in hosts])


@pytest.mark.parametrize("turns", [0, 1, 4])
def test_values_that_are_held_are_those_that_are_read_again(turns, monkeypatch):
    made = []
    monkeypatch.setattr(fused, "TURNS", turns)
    monkeypatch.setattr(fused, "Source", lambda passes, form: made.append(form) or fused_source.Source(passes, form))
    fused.fused_rows.cache_clear()
    fused._compiled.cache_clear()
    hosts = operands((3,), 44, "float32")
    check((3,), 44, "float32", hosts, [table.from_numpy(host) for host in hosts])
    assert [(form.width, form.turns) for form in made] == [(4, 2 if turns == 4 else 0)]
    fused.fused_rows.cache_clear()


def test_strides_of_every_kind():
    x, w, b = (RANDOM.standard_normal(shape).astype("float32") for shape in ((9, 4, 5), (16,), (3, 1, 2)))
    devices = [table.permute(table.slice(table.from_numpy(x), (slice(1, 9), slice(1, 4))), (2, 1, 0)),
               table.slice(table.from_numpy(w), (slice(None, None, -2),)),
               table.permute(table.from_numpy(b), (2, 0, 1))]
    x, w, b = x[1:, 1:].transpose(2, 1, 0), w[::-2], b.transpose(2, 0, 1)
    x, b = x[:2], b
    devices[0] = table.slice(devices[0], (slice(0, 2),))
    check((2, 3), 8, "float32", [x, w, b], devices)


def test_rows_that_begin_beside_an_aligned_address_go_in_smaller_accesses():
    x, w, b = operands((3,), 12, "float32")
    wide = np.zeros((3, 16), "float32")
    wide[:, 2:14] = x
    view = table.slice(table.from_numpy(wide), (slice(None), slice(2, 14)))
    check((3,), 12, "float32", [x, w, b], [view, table.from_numpy(w), table.from_numpy(b)])


def test_nan_infinities_and_rows_of_nothing():
    x = np.array([[np.nan, 1, 2], [-np.inf] * 3, [np.inf, 0, 1]])
    op = Fused("fused", [rows.row_max(read(0)), rows.row_min(read(0)), rows.softmax(read(0))], [Spec((3, 3), x.dtype)],
               [Spec((3, 1), x.dtype), Spec((3, 1), x.dtype), Spec((3, 3), x.dtype)], (3,), 3)
    best, least, shares = (table.to_numpy(raw) for raw in op.run([table.from_numpy(x)]))
    np.testing.assert_array_equal(best, x.max(1, keepdims=True))
    np.testing.assert_array_equal(least, x.min(1, keepdims=True))
    for mine, theirs in zip(shares, op.run([x])[2]):
        np.testing.assert_array_equal(mine, theirs)
    for lead, cols in (((0,), 3), ((2,), 0)):
        found = program(lead, cols, np.dtype("float32")).run(
            [table.from_numpy(host) for host in operands(lead, cols, "float32")]) if cols else []
        assert [table.to_numpy(raw).tolist() for raw in found] == [[], [], [0] * cols] * bool(found)


def softmax(x, w, b):
    power = lnb.exp(x * w - (x * w).max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def layer_norm(x, w, b):
    return (x - x.mean(-1, keepdims=True)) / lnb.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b


def rms_norm(x, w, b):
    return x / lnb.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w + b


@pytest.mark.parametrize("function", [softmax, layer_norm, rms_norm])
def test_norms_written_out_are_one_launch_and_one_for_their_gradient(function):
    hosts = [RANDOM.standard_normal(shape).astype("float32") for shape in ((3, 4), (4,), (4,))]
    found = []
    for device in ("cpu", "cuda"):
        leaves = [lnb.tensor(host, device=device, requires_grad=True) for host in hosts]
        call = lnb.fuse(function)
        with runtime.kept_launches() as forward:
            y = call(*leaves)
        with runtime.kept_launches() as backward:
            grads = lnb.autograd.grad(y, leaves[:2], lnb.ones_like(y), create_graph=True)
        second = lnb.autograd.grad((grads[0] * grads[0]).sum(), leaves[:2])
        found.append([value.detach().to("cpu").numpy() for value in (y, *grads, *second)])
    assert [name for name, *_ in forward] == ["fused_rows"]
    assert [name for name, *_ in backward] == ["fill", "fused_rows", "reduce"]       # ones, rows, and sums over them
    for mine, theirs in zip(*found):
        np.testing.assert_allclose(theirs, mine, rtol=1e-4, atol=1e-4 * (1 + abs(mine).max()))


def test_few_long_rows_are_divided_by_reductions():
    assert not fused.suits_rows(True, (2,), fused.LONG + 1) and fused.suits_rows(True, (2,), fused.LONG)
    assert fused.suits_rows(True, (fused.FEW_ROWS,), fused.LONG + 1) and not fused.suits_rows(False, (9,), 4)
    x = RANDOM.standard_normal(fused.LONG + 8).astype("float32")
    given = lnb.tensor(x, device="cuda")
    with runtime.kept_launches() as launched:
        total = lnb.fuse(lambda x: (x * x).sum(-1))(given)
    assert "fused_rows" not in [name for name, *_ in launched]
    np.testing.assert_allclose(total.item(), (x * x).sum(), rtol=1e-5)


def test_any_size_is_a_launch(launches):
    """More than 2**31 elements: blocks walk over rows, and places have 64 bits."""
    lead, cols, dtype = (1 << 22,), 1 << 10, np.dtype("float32")
    op = program(lead, cols, dtype)
    found = Runner(op, Table("cuda", table))([table.empty(spec.shape, dtype) for spec in op.inputs])
    assert [raw.shape for raw in found] == [(*lead, cols), (*lead, 1), (cols,)]
    check_launches(launches)

"""NumPy's own functions, called with tensors: the results of NumPy, as tensors."""

from typing import Any

import numpy as np
import pytest

import lucid_nb as lnb

RNG = np.random.default_rng(0)
DRAWN = {"t": RNG.normal(size=(2, 3)), "i": np.array([3, 1, 2, 2]), "m": np.array([[True, False, True]] * 2)}
PLAIN = {"a": RNG.normal(size=(2, 3)), "edges": np.array([-0.5, 0.0, 0.5])}
CALLS = """
concatenate([t, a])   concatenate([t, t], axis=1)   stack([a, t])   vstack([t, a])   hstack([t, a])   dstack([t, a])
column_stack([t, a])   block([[t], [a]])   append(t, a)   where(m, t, a)   where(m)   choose(i % 2, [i, i])
einsum("ij,kj->ik", t, a)   dot(t, a.T)   vdot(t, a)   inner(t, a)   tensordot(t, a, axes=([1], [1]))   kron(t, a)
outer(t, a)   trace(t)   cross(t, a)   sum(t)   sum(t, axis=0, keepdims=True)   mean(t, axis=1)   std(t, ddof=1)
var(t, axis=0)   median(t)   percentile(t, 30)   quantile(t, [0.2, 0.5], axis=1)   average(t, weights=a)
ptp(t, axis=0)   cumsum(t, axis=1)   cumprod(t)   diff(t)   gradient(t)   sort(t, axis=0)   argsort(t)   partition(t, 1)
argmax(t, axis=1)   argpartition(t, 1, axis=0)   nonzero(t > 0)   flatnonzero(t > 0)   argwhere(t > 0)   unique(i)
histogram(t, bins=4)   unique(i, return_counts=True)   bincount(i)   searchsorted(edges, t)   digitize(t, edges)
isin(i, [1, 2])   union1d(i, [9])   intersect1d(i, [1])   setdiff1d(i, [1])   reshape(t, (3, 2))   ravel(t)
transpose(t)   swapaxes(t, 0, 1)   moveaxis(t, 0, 1)   rollaxis(t, 1)   squeeze(t[None])   expand_dims(t, 0)
broadcast_to(t, (4, 2, 3))   atleast_3d(t)   broadcast_arrays(t, a[0])   flip(t)   fliplr(t)   flipud(t)   roll(t, 1)
rot90(t)   tile(t, 2)   repeat(t, 2, axis=0)   pad(t, 1)   pad(t, 1, mode="reflect")   split(t, 3, axis=1)
array_split(t, 2)   delete(t, 0)   insert(t, 0, 1.0)   take(t, [0, 1])   take_along_axis(t, argsort(a, axis=1), axis=1)
compress([True, False], t, axis=0)   diag(t)   diagonal(t)   diagflat(t)   tril(t)   triu(t)   extract(t > 0, t)
select([t > 0], [t])   zeros_like(t)   ones_like(t)   full_like(t, 3.0)   copy(t)   clip(t, -1, 1)   round(t, 1)
nan_to_num(t)   real(t)   imag(t)   angle(t)   fix(t)   isclose(t, a)   nansum(t)   nanmean(t, axis=0)   nanmax(t)
nanmedian(t)   any(t > 9)   all(t < 9)   max(t, axis=0)   meshgrid(t[0], t[1])   ix_(i, i)   trapezoid(t)
convolve(t[0], a[0])   correlate(t[0], a[0])   vander(t[0])   i0(t)   sinc(t)   ediff1d(t)   lexsort((i, i))
piecewise(t, [t > 0], [1.0, 2.0])   unravel_index(i, (9,))   ravel_multi_index((i, i), (9, 9))   linalg.norm(t)
linalg.matrix_power(t[:, :2], 3)   fft.fft(t)   fft.rfft(t, axis=0)
""".replace("\n", "   ").split("   ")


def parts(found: Any) -> list[Any]:
    """What is in nested tuples and lists."""
    return [part for one in found for part in parts(one)] if isinstance(found, (tuple, list)) else [found]


@pytest.mark.parametrize("call", [call for call in CALLS if call])
def test_functions_of_numpy_give_tensors(call):
    space = {name: getattr(np, name) for name in dir(np)} | PLAIN
    wanted = parts(eval(call, space | DRAWN))
    found = parts(eval(call, space | {name: lnb.tensor(value) for name, value in DRAWN.items()}))
    assert len(found) == len(wanted)
    for ours, numpys in zip(found, wanted):
        assert isinstance(ours, lnb.Tensor) and ours.dtype == numpys.dtype
        np.testing.assert_allclose(ours.numpy(), numpys, atol=1e-14)


@pytest.mark.parametrize("call", ["allclose(t, t)", "array_equal(t, t)", "iscomplexobj(t)", "shape(t)", "ndim(t)",
                                  "size(t)", "result_type(t, 1)", "can_cast(t.dtype, float)", "count_nonzero(t)"])
def test_functions_of_numpy_that_give_no_arrays(call):
    space = {name: getattr(np, name) for name in dir(np)}
    assert eval(call, space | {"t": lnb.tensor(DRAWN["t"])}) == eval(call, space | DRAWN)


def test_gradients_go_through_functions_of_numpy():
    x = lnb.tensor([1.0, 2.0], requires_grad=True)
    np.sum(np.concatenate([x * x, np.ones(2)])).backward()
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("call, wanted", [
    ("copyto(target, t)", [7.0, 8.0, 9.0]), ("put(target, [0, 2], t[:2])", [7.0, 1.0, 8.0]),
    ("putmask(target, target > 1, t)", [0.0, 1.0, 9.0]), ("copyto(dst=target, src=t)", [7.0, 8.0, 9.0])])
def test_functions_that_write_arrays_take_tensors(call, wanted):
    target = np.arange(3.0)
    eval(call, {"copyto": np.copyto, "put": np.put, "putmask": np.putmask, "target": target,
                "t": lnb.tensor([7.0, 8.0, 9.0])})
    assert target.tolist() == wanted


def test_a_function_that_is_not_here_is_refused(monkeypatch):
    monkeypatch.delattr(lnb, "kron")
    with pytest.raises(TypeError, match=r"numpy\.kron: lucid_nb has no function of this name"):
        np.kron(lnb.tensor([1]), lnb.tensor([2]))


def test_classes_that_mean_something_else_are_refused():
    with pytest.raises(TypeError, match="no implementation found"):
        np.concatenate([lnb.ones(2), np.ma.masked_array([1.0, 2.0], [True, False])])


def test_data_that_no_tensor_holds_moves_beside_tensors():
    heights, colours, nothing = np.broadcast_arrays(lnb.tensor([1.0, 2.0]), ["red", "blue"], None)
    assert isinstance(heights, lnb.Tensor) and colours.tolist() == ["red", "blue"] and nothing.tolist() == [None, None]
    with pytest.raises(lnb.GradError, match="requires grad"):
        np.broadcast_arrays(lnb.ones(2, requires_grad=True), None)
    with pytest.raises(lnb.DTypeError, match="object data has no arithmetic"):
        np.kron(lnb.ones(2), np.array([None]))

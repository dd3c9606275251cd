"""In whose order of axes results lie, and whether they are views: as NumPy's, whatever the layout of the arguments."""

import numpy as np
import pytest

import lucid_nb as lnb

CALLS = """
    A + 1; A + B; -A; np.exp(A); A > 0; np.where(A > 0, A, B); np.clip(A, 0, 1); np.maximum(A, 0); np.power(A,
    2); A // 2; A % 2; np.hypot(A, B); np.isnan(A); np.sign(A); np.floor(A); np.round(A); np.rint(A);
    np.trunc(A); np.modf(A)[0]; np.frexp(A)[1]; np.ldexp(A, 1); np.heaviside(A, 1); np.logical_not(A > 0);
    np.conj(A); np.real(A); np.nan_to_num(A); np.add(A, B, order='C'); np.add(A, B, order='F'); np.float32(2) *
    A; np.searchsorted(A[0].ravel(), A);

    A.copy(); np.copy(A); A.copy('K'); A.copy(order='F'); np.array(A, order='F'); np.asarray(A); np.asarray(A,
    order='C'); np.ascontiguousarray(A); np.asfortranarray(A); A.astype('float32'); A.astype('float64');
    A.astype('float64', copy=False); A.astype('float32', order='C'); np.zeros_like(A, order='C'); A.flatten();
    A.flatten('F'); A.view();

    A.T; A.mT; A.transpose(); np.transpose(A); A.swapaxes(0, -1); np.moveaxis(A, 0, -1); np.rollaxis(A, 1);
    A.reshape(-1); A.reshape(A.shape[::-1]); np.ravel(A); np.ravel(A, 'F'); np.ravel(A, 'K'); A.squeeze();
    np.expand_dims(A, 0); A[None]; A[..., 0]; A[0]; A[::2]; A[:, ::-1]; A[A > 0]; np.take(A, [0, 1], axis=0);
    np.take(A, [0, 1], axis=-1); np.flip(A); np.flip(A, 0); np.fliplr(A); np.broadcast_to(A, (2,) + A.shape);
    np.atleast_3d(A); np.split(A, 2, axis=-1)[1]; np.array_split(A, 2)[0]; np.vsplit(A, 2)[0];
    np.compress([True, False], A, axis=0); np.extract(A > 0, A);

    np.sum(A, axis=0); np.sum(A, axis=-1); np.sum(A, axis=0, keepdims=True); np.mean(A, axis=0); np.max(A,
    axis=-1); np.any(A > 0, axis=0); np.cumsum(A, axis=0); np.cumsum(A, axis=-1); np.cumprod(A, axis=0);
    np.std(A, axis=0); np.prod(A, axis=-1, keepdims=True); np.ptp(A, axis=0); np.average(A, axis=0);
    np.nansum(A, axis=0);

    np.sort(A, axis=0); np.sort(A, axis=-1); np.argsort(A, axis=0); np.argsort(A); np.partition(A, 1, axis=0);
    np.take_along_axis(A, np.argsort(A, axis=0), axis=0); np.unique(A); np.nonzero(A)[0]; np.choose(A > 0, [A,
    B]);

    np.concatenate([A, A]); np.concatenate([A, B]); np.concatenate([A, B], axis=-1); np.stack([A, A]);
    np.stack([A, B]); np.stack([A, B], axis=-1); np.vstack([A, A]); np.hstack([A, A]); np.dstack([A, A]);
    np.column_stack([A, A]); np.append(A, A, axis=0); np.tile(A, 2); np.repeat(A, 2, axis=0); np.roll(A, 1);
    np.diff(A, axis=0); np.triu(A); np.tril(A); np.resize(A, (3, 3)); np.gradient(A, axis=0); np.interp(A, [0,
    1], [0, 1]); np.digitize(A, [0.5]);

    np.matmul(A, np.swapaxes(A, -1, -2)); np.einsum('ij...->ji...', A); np.fft.fft(A); np.fft.fft(A, axis=0);
    np.apply_along_axis(np.sum, 0, A)"""
# What is NumPy's for arrays in C or Fortran order only: for others our result is in C order.
OF_TWO_ORDERS = """np.array(A); np.zeros_like(A); np.ones_like(A); np.empty_like(A); np.full_like(A, 2);
    np.roll(A, 1, axis=0); np.pad(A, 1); np.delete(A, 0, axis=0); np.insert(A, 0, 1, axis=0)"""
DRAW = np.random.default_rng(0)
ROWS, BLOCKS = DRAW.standard_normal((4, 6)), DRAW.standard_normal((4, 6, 4))
LAYOUTS = {"C": lambda x: x, "Fortran": np.asfortranarray, "reversed": lambda x: x[::-1],
           "strided": lambda x: np.concatenate([x, x], axis=-1)[..., ::2],
           "middle axis first": lambda x: np.ascontiguousarray(x.swapaxes(0, 1)).swapaxes(0, 1)}


def expressions(text):
    """The calls of a text."""
    return [" ".join(part.split()) for part in text.split(";")]


def facts(found, given):
    """Shape, dtype, bytes between neighbours along each axis, and whether it is a view of what was given."""
    found = np.asarray(found)
    strides = [step for step, size in zip(found.strides, found.shape) if size > 1]
    return found.shape, found.dtype, strides, any(np.may_share_memory(found, array) for array in given)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("base", [ROWS, BLOCKS], ids=["two axes", "three axes"])
@pytest.mark.parametrize("second", ["alike", "C"])
def test_order_of_axes_in_memory_is_numpys(layout, base, second):
    A = LAYOUTS[layout](base)
    B = LAYOUTS[layout](np.ones(base.shape)) if second == "alike" else np.ones(base.shape)
    ours = {"np": lnb, "A": lnb.asarray(A), "B": lnb.asarray(B)}
    has_two_orders = A.flags.c_contiguous or A.flags.f_contiguous
    for call in expressions(CALLS) + (expressions(OF_TWO_ORDERS) if has_two_orders else []):
        assert facts(eval(call, ours), (A, B)) == facts(eval(call, {"np": np, "A": A, "B": B}), (A, B)), call

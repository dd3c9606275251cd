"""Derivatives of a function on one device against those of the CPU in float64, to second order."""

import numpy as np

import lucid_nb as lnb
from lucid_nb.testing import assert_close


def derivatives(f, arrays, device, dtype, order):
    """The value, the gradients, and the gradients of a weighted sum of these."""
    numbers = np.random.default_rng(7)
    tensors = [lnb.asarray(np.asarray(a, dtype), device=device) for a in arrays]
    for tensor in tensors:
        tensor.requires_grad = True
    value = f(*tensors)
    found = [value.detach()]
    value.backward(weights(value, numbers), create_graph=order > 1)
    firsts = [tensor.grad for tensor in tensors]
    found += [first.detach() for first in firsts]
    if order > 1:
        total = None
        for tensor, first in zip(tensors, firsts):
            tensor.zero_grad()
            part = (first * weights(first, numbers)).sum()
            total = part if total is None else total + part
        if total.requires_grad:
            total.backward()
        found += [lnb.zeros_like(t) if t.grad is None else t.grad for t in tensors]
    return [tensor.to_host() for tensor in found]


def weights(like, numbers):
    """Numbers that differ, on the device and in the dtype of a tensor."""
    return lnb.asarray(numbers.uniform(0.5, 2, like.shape).astype(like.dtype), device=like.device)


def check_against_cpu(f, *arrays, device, order=2, rtol=1e-5):
    """Hold a device's float32 to the CPU's float64."""
    wanted = derivatives(f, arrays, "cpu", "float64", order)
    for got, exact in zip(derivatives(f, arrays, device, "float32", order), wanted):
        assert got.dtype == np.float32
        assert_close(got, exact, rtol=rtol, atol=rtol * float(np.abs(exact).max(initial=0)))

"""Convolution and its gradients by the definition, and memory that lies between guards."""

import numpy as np
import pytest
from hypothesis import strategies as st

from lucid_nb.kernels import memory
from lucid_nb.kernels.conv import conv, conv_input_grad, conv_weight_grad
from lucid_nb.shapes import Window

RANDOM = np.random.default_rng(5)


def values(shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def tap_pairs(x_shape, w_shape, window):
    """For each tap: its index, and what of the padded input it reads."""
    results = window.output_sizes(x_shape[2:], w_shape[2:])
    for tap in np.ndindex(*w_shape[2:]):
        yield tap, tuple(slice(at * dilation, at * dilation + (count - 1) * stride + 1, stride)
                         for at, dilation, count, stride in zip(tap, window.dilation, results, window.stride))


def naive(x, w, g, window):
    """Result and gradients by the definition, in float64 or complex128, a tap at a time."""
    x, w, g, groups = *(array.astype(np.result_type(array, np.float64)) for array in (x, w, g)), window.groups
    pairs = [(0, 0), (0, 0), *zip(window.low, window.high)]
    padded = np.pad(x, pairs).reshape(len(x), groups, -1, *(n + a + b for n, (a, b) in zip(x.shape[2:], pairs[2:])))
    slopes, padded_slopes = g.reshape(len(g), groups, -1, *g.shape[2:]), np.zeros_like(padded)
    result, weight_slopes = np.zeros_like(slopes), np.zeros_like(w)
    filters = w.reshape(groups, -1, *w.shape[1:])
    for tap, place in tap_pairs(x.shape, w.shape, window):
        read, weight = padded[:, :, :, *place], filters[:, :, :, *tap]
        result += np.einsum("ngc...,gfc->ngf...", read, weight)
        padded_slopes[:, :, :, *place] += np.einsum("ngf...,gfc->ngc...", slopes, weight)
        axes = "xyz"[:window.ndim]
        weight_slopes[:, :, *tap] = np.einsum(f"ngc{axes},ngf{axes}->gfc", read, slopes).reshape(w.shape[:2])
    inner = tuple(slice(low, low + size) for low, size in zip(window.low, x.shape[2:]))
    return result.reshape(g.shape), padded_slopes.reshape(*x.shape[:2], *padded.shape[3:])[:, :, *inner], weight_slopes


def assert_all_near(x, w, window):
    """The convolution and both gradients are as near as rounding allows."""
    g = values((len(x), len(w), *window.output_sizes(x.shape[2:], w.shape[2:])), x.dtype)
    results = conv(x, w, window), conv_input_grad(g, w, window, x.shape), conv_weight_grad(x, g, window, w.shape)
    sizes = naive(np.abs(x), np.abs(w), np.abs(g), window)
    for result, exact, size in zip(results, naive(x, w, g, window), sizes):
        assert result.dtype == x.dtype and result.shape == exact.shape
        assert np.all(np.abs(result - exact) <= 8 * np.finfo(x.dtype).eps * size)


@st.composite
def windows(draw, pairs, most_step, most_size):
    """x shape, w shape and window of a small convolution with at least one result; `pairs` are the filters and channels
    of a group."""
    ndim = draw(st.integers(1, 3))
    stride, dilation = (tuple(draw(st.integers(1, most_step)) for _ in range(ndim)) for _ in range(2))
    low, high = (tuple(draw(st.integers(0, 3)) for _ in range(ndim)) for _ in range(2))
    taps = tuple(draw(st.integers(1, 4)) for _ in range(ndim))
    sizes = tuple(draw(st.integers(max(1, step * (count - 1) + 1 - a - b), most_size))
                  for step, count, a, b in zip(dilation, taps, low, high))
    groups, (filters, inputs) = draw(st.integers(1, 3)), draw(pairs)
    window = Window(stride, low, high, dilation, groups)
    return (draw(st.integers(1, 3)), inputs * groups, *sizes), (filters * groups, inputs, *taps), window


@pytest.fixture
def guarded(monkeypatch):
    """Every array that the kernels are given lies between guards, which must not change."""
    buffers = []

    def empty(shape, dtype):
        dtype, count = np.dtype(dtype), int(np.prod(shape))
        buffer = np.full(count + 2048, 77, dtype)
        buffers.append((buffer, count))
        return buffer[1024:1024 + count].reshape(shape)

    monkeypatch.setattr(memory, "empty", empty)
    yield
    assert buffers
    for buffer, count in buffers:
        assert (buffer[:1024] == 77).all() and (buffer[1024 + count:] == 77).all()

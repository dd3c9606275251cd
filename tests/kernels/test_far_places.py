"""Places beyond 2**31: arrays that claim more elements than that, of which hardly any are touched.

Memory comes from a file with holes: what nobody writes takes no room, and reads as zeros. Matrix products have their
test in test_gemm.py.
"""

import tempfile
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest

from lucid_nb import windows
from lucid_nb.kernels import copying, index, pooling
from lucid_nb.kernels.attention import attention, attention_grad
from lucid_nb.kernels.resample import resample
from lucid_nb.kernels.sample import sample

conv = import_module("lucid_nb.kernels.conv")
RANDOM = np.random.default_rng(8)
FAR = 2 ** 31 + 64


@contextmanager
def reserved(count, dtype=np.float32):
    """A flat array of zeros with room for so many elements, as address space only."""
    with tempfile.TemporaryFile() as file:
        try:
            memory = np.memmap(file, dtype, "w+", shape=count)
        except (OSError, ValueError):
            pytest.skip("no address space of some GiB, or no files with holes")
        yield memory
        del memory


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def axes_of(size, taps, stride):
    return windows.pool_axes("pool", (size,), taps, stride, 0, 1, False)


def test_pools_read_far_windows():
    with reserved(FAR) as x:
        stride = 2 ** 30
        for place in range(0, 2 ** 31 + 1, stride):
            x[place:place + 2] = numbers(2)
        axes, starts = axes_of(FAR, 2, stride), [0, stride, 2 * stride]
        values, places = pooling.max_pool(x, axes)
        pairs = np.stack([x[place:place + 2] for place in starts])
        assert values.tolist() == pairs.max(1).tolist() and places.dtype == np.int64
        assert places.tolist() == [place + int(pair.argmax()) for place, pair in zip(starts, pairs)]
        assert np.allclose(pooling.avg_pool(x, axes, True, None), pairs.mean(1), rtol=1e-6)


def test_planes_far_apart_are_pooled():
    size = 2 ** 30 + 32
    with reserved(3 * size) as x:
        planes = x.reshape(3, size)
        planes[:, -3:] = numbers(3, 3)
        axes = axes_of(size, 3, size - 3)
        values, places = pooling.max_pool(planes, axes)
        assert values.shape == (3, 2) and values[:, 1].tolist() == planes[:, -3:].max(1).tolist()
        assert (places[:, 1] - size + 3).tolist() == planes[:, -3:].argmax(1).tolist()
        assert np.allclose(pooling.avg_pool(planes, axes, True, None)[:, 1], planes[:, -3:].mean(1), rtol=1e-6)


def test_heads_far_apart_attend():
    with reserved(3 * FAR + 4096) as memory:
        wide = [np.lib.stride_tricks.as_strided(memory[part * 1024:], (2, 2, 5, 4), (8 * FAR, 4 * FAR, 16, 4))
                for part in range(4)]
        for view in wide:
            view[...] = numbers(2, 2, 5, 4)
        near = [np.array(view) for view in wide]
        results = []
        for q, k, v, g in (wide, near):
            out, sums = attention(q, k, v, None, True, 0.5)
            results.append([out, *attention_grad(q, k, v, None, out, sums, g, True, 0.5, False)[:3]])
        assert all(np.array_equal(one, other) for one, other in zip(*results)) and results[0][0].any()


def test_rows_far_away_are_gathered():
    rows = FAR // 1024 + 2
    with reserved(rows * 1024) as memory:
        table = memory.reshape(rows, 1024)
        table[-1], table[7] = numbers(1024), numbers(1024)
        wanted = [rows - 1, 7] * 32
        found = index.gather(table, np.array(wanted), 0)
        assert found.size > index.FEW and np.array_equal(found, table[wanted]) and found.all()


def test_elements_far_away_are_sampled_and_resampled():
    with reserved(FAR) as x:
        x[[0, 5, FAR - 1, FAR - 9]] = numbers(4)
        places, weights = np.array([FAR - 1, 5, FAR - 9, 0]), np.array([0.25, 0.75, 2.0, 1.0])
        wanted = x[places].astype(np.float64) * weights
        found = resample(x, 0, np.array([0, 2, 4]), places, weights)
        assert np.allclose(found, wanted.reshape(2, 2).sum(1), rtol=1e-6)
        form = (2, 1, 2)
        found = sample(x.reshape(1, 1, -1), places.reshape(form), weights.astype(np.float32).reshape(form))
        assert np.allclose(found[0, 0], wanted.reshape(2, 2).sum(0), rtol=1e-6)


def test_images_far_apart_are_convolved():
    with reserved(2 * FAR) as memory:
        x = np.lib.stride_tricks.as_strided(memory, (2, 2, 5, 6), (4 * FAR, 120, 24, 4))
        x[...] = numbers(2, 2, 5, 6)
        w, window = numbers(3, 2, 3, 3), windows.window_of((1, 1), ((1, 1), (1, 1)), (1, 1), 1)
        assert np.array_equal(conv.conv(x, w, window), conv.conv(np.array(x), w, window))
        assert np.array_equal(copying.contiguous(x), x)

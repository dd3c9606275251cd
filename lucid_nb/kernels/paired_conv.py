"""Convolutions of bfloat16 as convolutions of words: a pair of numbers in the place of one float32.

What is summed over lies side by side in the words: two channels of a result, two filters of the input's gradient, two
results or two images of the weights' gradient. So nothing of a convolution changes but that a tile adds the products of
pairs where it multiplied and added (AVX512-BF16); "pairs" is the name of such kernels' numbers in emission.py.
"""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..shapes import Shape, Window
from . import depthwise, halves, winograd
from .copying import contiguous
from .steps import SINGLE


class Words(NamedTuple):
    """Two operands of words, what else the entry takes, and the shape of the result."""

    a: np.ndarray
    b: np.ndarray
    rest: tuple
    shape: Shape


def of_conv(x: np.ndarray, w: np.ndarray, window: Window) -> Words | None:
    """Pairs of channels; None where those cannot be paired or other kernels do it."""
    key = x.shape, w.shape, window, SINGLE
    if not _can_pair(w.shape[1], window) or winograd.forward_plan(*key) or depthwise.forward_plan(*key):
        return None
    return Words(_paired(x, 1), _paired(w, 1), (window,),
                 (len(x), len(w), *window.output_sizes(x.shape[2:], w.shape[2:])))


def of_conv_input_grad(g: np.ndarray, w: np.ndarray, window: Window, x_shape: Shape) -> Words | None:
    """Pairs of filters."""
    key = x_shape, w.shape, window, SINGLE
    if not _can_pair(len(w) // window.groups, window) or winograd.backward_plan(*key) or depthwise.backward_plan(*key):
        return None
    return Words(_paired(g, 1), _paired(w, 0), (window, x_shape), x_shape)


def of_conv_weight_grad(x: np.ndarray, g: np.ndarray, window: Window, w_shape: Shape) -> Words | None:
    """Pairs of results where a tap reads each channel just as it lies, otherwise of images."""
    if depthwise.slopes_plan(x.shape, w_shape, window, SINGLE):
        return None
    results = prod(g.shape[2:])
    if prod(w_shape[2:]) == 1 and x.shape[2:] == g.shape[2:] and max(window.low) == 0 and results % 2 == 0:
        line = Window((1,), (0,), (0,), (1,), window.groups)
        a, b = (contiguous(array).reshape(*array.shape[:2], -1).view(SINGLE) for array in (x, g))
        return Words(a, b, (line, (*w_shape[:2], 1)), w_shape)
    return Words(_paired(x, 0), _paired(g, 0), (window, w_shape), w_shape) if len(x) > 1 else None


PAIRED: dict[str, Callable[..., Words | None]] = {
    "conv": of_conv, "conv_input_grad": of_conv_input_grad, "conv_weight_grad": of_conv_weight_grad}


def called(entry: Callable[..., np.ndarray], a: np.ndarray, b: np.ndarray, *rest: Any) -> np.ndarray:
    """An entry of conv.py on float16 or bfloat16: computed in float32 and rounded once."""
    words = None
    if a.dtype.name == "bfloat16" and a.size and b.size and halves.multiplies_pairs():
        words = PAIRED[entry.__name__](a, b, *rest)
    if words is None:
        found = entry(halves.widened(a), halves.widened(b), *rest)
    else:
        found = entry(words.a, words.b, *words.rest, pairs=True).reshape(words.shape)
    return halves.narrowed(contiguous(found), a.dtype)


def _can_pair(summed: int, window: Window) -> bool:
    """Can so many channels of a group be paired? One that is left gets zeros beside it, if no other group follows."""
    return summed % 2 == 0 or (window.groups == 1 and summed > 1)


def _paired(x: np.ndarray, axis: int) -> np.ndarray:
    """Neighbours on an axis as words."""
    before, count, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1:]
    if count % 2:
        wider = np.zeros((*before, count + 1, *after), x.dtype)
        wider[(slice(None),) * axis + (slice(count),)] = x
        x = wider
    rows = contiguous(x).reshape(prod(before), x.shape[axis], prod(after))
    return halves.words_of_rows(rows).reshape(*before, -1, *after)

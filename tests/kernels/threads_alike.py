"""The same work with several numbers of threads."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from lucid_nb.kernels import threads
from lucid_nb.kernels.conv import conv, conv_input_grad, conv_weight_grad
from lucid_nb.shapes import Window


def by_threads(work: Callable[[], Iterable[np.ndarray]], counts: Iterable[int] = (1, 2, 3)) -> Iterator[bytes]:
    """The bits of all results of some work, for each number of threads."""
    before = threads.num_threads()
    try:
        for count in counts:
            threads.set_num_threads(count)
            yield b"".join(result.tobytes() for result in work())
    finally:
        threads.set_num_threads(before)


def all_three(x: np.ndarray, w: np.ndarray, window: Window) -> list[np.ndarray]:
    """A convolution, and both gradients of what it gives."""
    g = conv(x, w, window)
    return [g, conv_input_grad(g, w, window, x.shape), conv_weight_grad(x, g, window, w.shape)]

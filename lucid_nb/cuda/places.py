"""Places in memory and along axes, as kernels of convolutions compute them."""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .correlation import Correlation, Layout
from .runtime import inline


class Places(NamedTuple):
    """What places are computed in: 32 bits where all fit, which takes half the registers and fewer instructions."""

    integer: Any
    quotient: Callable     # of two numbers that are not negative

    def of(self, *numbers: Any) -> tuple[Any, ...]:
        """Arguments of a kernel, alone or in tuples."""
        return tuple(self.of(*number) if isinstance(number, tuple) else self.integer(number) for number in numbers)


@inline
def _quotient(a, b):
    return np.int32(np.uint32(a) // np.uint32(b))


@inline
def _wide_quotient(a, b):
    return a // b


NARROW, WIDE = Places(np.int32, _quotient), Places(np.int64, _wide_quotient)
MOST_NARROW = 1 << 30  # leaves room for what is added before it is compared


def fitting(most: int) -> Places:
    """What numbers up to `most` fit."""
    return NARROW if most < MOST_NARROW else WIDE


def span(layout: Layout) -> int:
    """How far elements lie apart."""
    return sum((size - 1) * abs(step) for size, step in zip(layout.shape, layout.strides))


def places_of(problem: Correlation, *counts: int) -> Places:
    """What the places of a problem fit, and numbers below these counts."""
    reach = [size * step + abs(low) + taps * apart for size, step, low, taps, apart
             in zip(problem.sizes, problem.stride, problem.low, problem.taps, problem.dilation)]
    return fitting(max(span(problem.x), span(problem.w), *reach, prod(problem.result), *counts))

"""Counting: the range of integers, how often each occurs, and how many numbers fall into each of equal bins.

Neighbouring elements are counted by CHAINS counters each, as a counter that is written must not be read at once.
"""

import numpy as np

from ..intrinsics import mark_kernel
from .typed import block, out_of_line, scalar, shift, stack_of

CHAINS, BLOCK = 4, 1024


def span(start, stop, x, found, size, units):
    """Unit: the u-th of `units` shares of x. found[2u], found[2u + 1] = its smallest and largest element."""
    mark_kernel()
    for unit in range(start, stop):
        low, high = size * unit // units, size * (unit + 1) // units
        least = most = np.int64(x[low])
        for i in range(low, high):
            value = np.int64(x[i])
            least = value if value < least else least
            most = value if value > most else most
        found[2 * unit], found[2 * unit + 1] = least, most


@scalar
def tally(places, counts, length, bins):
    """Count `length` places into CHAINS rows of `bins` counters."""
    whole = length // CHAINS * CHAINS
    for i in range(0, whole, CHAINS):
        counts[np.int64(places[i])] += 1
        counts[bins + np.int64(places[i + 1])] += 1
        counts[2 * bins + np.int64(places[i + 2])] += 1
        counts[3 * bins + np.int64(places[i + 3])] += 1
    for i in range(whole, length):
        counts[np.int64(places[i])] += 1


def occurrences(start, stop, x, counts, size, bins, units):
    """Unit: the u-th of `units` shares of x, which has CHAINS rows of counters of its own."""
    mark_kernel()
    for unit in range(start, stop):
        low, high = size * unit // units, size * (unit + 1) // units
        tally(shift(x, low), shift(counts, unit * CHAINS * bins), high - low, bins)


@block
def bin_numbers(x, edges, places, length, bins, first, last, scale):
    """places = the bins of numbers between sorted float64 edges, of equal width but for rounding; outside, `bins`."""
    mark_kernel()
    out_of_line()
    for i in range(length):
        value = float(x[i])
        inside = (value >= first) & (value <= last)
        value = value if inside else first
        k = np.int64((value - first) * scale)
        k = k if k < bins else bins - 1
        k = k - 1 if value < edges[k] else k                       # the edges decide: the quotient is rounded
        k = k + 1 if (value >= edges[k + 1]) & (k < bins - 1) else k
        places[i] = k if inside else bins


def bins_of(start, stop, x, edges, places, bins, first, last, scale):
    """Unit: an element."""
    mark_kernel()
    bin_numbers(shift(x, start), edges, shift(places, start), stop - start, bins, first, last, scale)


def histogram(start, stop, x, edges, counts, size, bins, units, first, last, scale):
    """Unit: the u-th of `units` shares of x, which has CHAINS rows of bins + 1 counters of its own."""
    mark_kernel()
    places = stack_of(np.int64, BLOCK)
    for unit in range(start, stop):
        low, high = size * unit // units, size * (unit + 1) // units
        own = shift(counts, unit * CHAINS * (bins + 1))
        for begin in range(low, high, BLOCK):
            length = min(BLOCK, high - begin)
            bin_numbers(shift(x, begin), edges, places, length, bins, first, last, scale)
            tally(places, own, length, bins + 1)

"""Range kernels that the tests of the store, the threads and the memory compile."""
import numpy as np


def mix(start, stop, y, x, h, offset, factor):
    """y = factor * x + h + offset, float32 x, uint16 h, float64 y."""
    for i in range(start, stop):
        y[i] = factor * x[i] + h[i] + offset


def narrow(start, stop, y, x, offset, factor):
    """y = factor * x + offset in float32 and int32."""
    for i in range(start, stop):
        y[i] = factor * x[i] + np.float32(offset)


def mark(start, stop, counts, repeats):
    """Add one to each count, after some work."""
    for i in range(start, stop):
        value = 1.0
        for _ in range(repeats):
            value = value * 0.5 + 1.0
        counts[i] += 1 if value < 3.0 else 100


def report(start, stop, starts, stops, taken):
    """Write down the bounds of the range at its start."""
    starts[start] = start
    stops[start] = stop
    taken[start] += 1


def square(start, stop, y, x):
    """y = x * x, float64."""
    for i in range(start, stop):
        y[i] = x[i] * x[i]

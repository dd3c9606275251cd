"""Softmax and its kin along rows: the maximum, exponentials of the distance to it and their sum, scale.

Sums of exponentials take blocks in the element type and total them in float64. Where everything is -inf the distance
is taken to 0, so the sum is 0: softmax is then 0, logsumexp and log_softmax are -inf. An infinite or NaN maximum makes
NaN of a whole slice by arithmetic alone.
"""

import numpy as np

from ..intrinsics import fabs, mark_kernel
from ..math.logarithm import log_float64
from .extremes import row_max
from .sums import row_sum
from .typed import block, convert, exponential, out_of_line, plus, scalar, shift

BLOCK = 256


@scalar
def reference(best, x):
    """What distances are taken to: the maximum, 0 where that is -inf."""
    return best if best != -np.inf else convert(x, 0)


@block
def block_exp(x, out, count, top):
    """out = exp(x - top), and the sum of it."""
    mark_kernel()
    out_of_line()
    total = convert(x, 0)
    for i in range(count):
        value = exponential(x[i] - top)
        out[i] = value
        total = plus(total, value)
    return total


@block
def block_exp_sum(x, count, top):
    """The sum of exp(x - top)."""
    mark_kernel()
    out_of_line()
    total = convert(x, 0)
    for i in range(count):
        total = plus(total, exponential(x[i] - top))
    return total


@scalar
def row_exp(x, out, cols, top):
    """out = exp(x - top), and the sum of it as float64."""
    total = 0.0
    for first in range(0, cols, BLOCK):
        total += float(block_exp(shift(x, first), shift(out, first), min(BLOCK, cols - first), top))
    return total


@scalar
def row_exp_sum(x, cols, top):
    """The sum of exp(x - top) as float64."""
    total = 0.0
    for first in range(0, cols, BLOCK):
        total += float(block_exp_sum(shift(x, first), min(BLOCK, cols - first), top))
    return total


@scalar
def inverse(total):
    """1 / total, 0 for the sum over nothing but -inf."""
    return 1.0 / total if total != 0.0 else 0.0


@scalar
def log_or_zero(total):
    """log(total), 0 for the sum over nothing but -inf: those elements stay -inf."""
    return log_float64(total) if total != 0.0 else 0.0


def softmax_rows(start, stop, x, out, cols, row_step):
    """Unit: a row; out is contiguous."""
    mark_kernel()
    for row in range(start, stop):
        line, target = shift(x, row * row_step), shift(out, row * cols)
        scale = convert(x, inverse(row_exp(line, target, cols, reference(row_max(line, cols), x))))
        for j in range(cols):
            target[j] *= scale


def log_softmax_rows(start, stop, x, out, cols, row_step):
    """Unit: a row; out is contiguous."""
    mark_kernel()
    for row in range(start, stop):
        line, target = shift(x, row * row_step), shift(out, row * cols)
        top = reference(row_max(line, cols), x)
        rest = convert(x, log_or_zero(row_exp_sum(line, cols, top)))
        for j in range(cols):
            target[j] = (line[j] - top) - rest


def logsumexp_rows(start, stop, x, out, cols, row_step):
    """Unit: a row. An infinite maximum is the result."""
    mark_kernel()
    for row in range(start, stop):
        line = shift(x, row * row_step)
        best = row_max(line, cols)
        total = row_exp_sum(line, cols, reference(best, x))
        out[row] = convert(x, float(best) + log_float64(total)) if fabs(best) < np.inf else best


@block
def block_product_sum(y, g, count):
    """The sum of y * g."""
    mark_kernel()
    out_of_line()
    total = convert(y, 0)
    for i in range(count):
        total = plus(total, y[i] * g[i])
    return total


def softmax_grad_rows(start, stop, y, g, out, cols):
    """Unit: a row; all are contiguous."""
    mark_kernel()
    for row in range(start, stop):
        line, slope, target = shift(y, row * cols), shift(g, row * cols), shift(out, row * cols)
        total = 0.0
        for first in range(0, cols, BLOCK):
            total += float(block_product_sum(shift(line, first), shift(slope, first), min(BLOCK, cols - first)))
        mean = convert(y, total)
        for j in range(cols):
            target[j] = line[j] * (slope[j] - mean)


def log_softmax_grad_rows(start, stop, y, g, out, cols):
    """Unit: a row; all are contiguous."""
    mark_kernel()
    for row in range(start, stop):
        line, slope, target = shift(y, row * cols), shift(g, row * cols), shift(out, row * cols)
        total = convert(y, row_sum(slope, cols))
        for j in range(cols):
            target[j] = slope[j] - exponential(line[j]) * total


def cross_entropy_rows(start, stop, x, target, out, cols, row_step, ignored):
    """Unit: a row. log(sum(exp(x))) - x[target], 0 where the target is `ignored`."""
    mark_kernel()
    for row in range(start, stop):
        line, label = shift(x, row * row_step), target[row]
        out[row] = convert(x, 0)
        if label != ignored:
            top = row_max(line, cols)
            out[row] = convert(x, log_float64(row_exp_sum(line, cols, top)) - (float(line[label]) - float(top)))


def cross_entropy_grad_rows(start, stop, x, target, g, out, cols, row_step, ignored):
    """Unit: a row. (softmax(x) - one at the target) * g, 0 where the target is `ignored`; out is contiguous."""
    mark_kernel()
    for row in range(start, stop):
        line, slope, label = shift(x, row * row_step), shift(out, row * cols), target[row]
        if label == ignored:
            for j in range(cols):
                slope[j] = convert(x, 0)
        else:
            total = row_exp(line, slope, cols, reference(row_max(line, cols), x))
            scale = convert(x, inverse(total))
            chosen = slope[label] * scale - convert(x, 1)
            for j in range(cols):
                slope[j] = slope[j] * scale * g[row]
            slope[label] = chosen * g[row]

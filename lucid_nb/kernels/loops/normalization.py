"""Normalisation: statistics of a batch or of rows, the normalised elements, and the gradient, each in one kernel.

Statistics are found in two passes over what lies in the cache: a rough mean, then the deviations from it and their
squares, of which the first corrects the second (the corrected two-pass algorithm, T. F. Chan, G. H. Golub and R. J.
LeVeque, The American Statistician 37, 1983). Blocks are summed in the element type and totalled in float64. The rough
mean is one of distances to the first element, so that equal elements deviate by nothing.

`width` is that of contiguous elements, `plane` that of those which share a channel.
"""

import numpy as np

from ..intrinsics import mark_kernel, square_root
from .typed import block, convert, out_of_line, plus, scalar, shift, stack_of

BLOCK, ROW_BLOCK = 1024, 32


# ------------------------------------------------------------------------------------------------------ sums
@block
def distance_sum(x, count, origin):
    """The sum of distances to `origin` of at most BLOCK elements."""
    mark_kernel()
    out_of_line()
    total = convert(x, 0)
    for i in range(count):
        total = plus(total, x[i] - origin)
    return total


@block
def deviation_sums(x, count, middle, sums):
    """sums += the deviations of at most BLOCK elements from the middle, and their squares."""
    mark_kernel()
    out_of_line()
    off, square = convert(x, 0), convert(x, 0)
    for i in range(count):
        deviation = x[i] - middle
        off = plus(off, deviation)
        square = plus(square, deviation * deviation)
    sums[0] += np.float64(off)
    sums[1] += np.float64(square)


@block
def slope_sums(g, x, count, middle, sums):
    """sums += g, and g times the deviation of x from the middle, of at most BLOCK elements."""
    mark_kernel()
    out_of_line()
    total, moment = convert(x, 0), convert(x, 0)
    for i in range(count):
        total = plus(total, g[i])
        moment = plus(moment, g[i] * (x[i] - middle))
    sums[0] += np.float64(total)
    sums[1] += np.float64(moment)


@block
def weighted_slope_sums(g, x, weight, count, middle, sums):
    """As slope_sums, of g times a weight for each element."""
    mark_kernel()
    out_of_line()
    total, moment = convert(x, 0), convert(x, 0)
    for i in range(count):
        slope = g[i] * weight[i]
        total = plus(total, slope)
        moment = plus(moment, slope * (x[i] - middle))
    sums[0] += np.float64(total)
    sums[1] += np.float64(moment)


@scalar
def line_distance_sum(x, width, origin):
    """`distance_sum` of any number of elements."""
    total = 0.0
    for first in range(0, width, BLOCK):
        total += np.float64(distance_sum(shift(x, first), min(BLOCK, width - first), origin))
    return total


@scalar
def line_deviation_sums(x, width, middle, sums):
    """`deviation_sums` of any number of elements."""
    for first in range(0, width, BLOCK):
        deviation_sums(shift(x, first), min(BLOCK, width - first), middle, sums)


@scalar
def line_slope_sums(g, x, width, middle, sums):
    """`slope_sums` of any number of elements."""
    for first in range(0, width, BLOCK):
        slope_sums(shift(g, first), shift(x, first), min(BLOCK, width - first), middle, sums)


@scalar
def settled(middle, sums, count):
    """The mean and the biased variance from a rough mean and the sums of deviations from it."""
    moved = sums[0] / count
    square = sums[1] - sums[0] * moved
    return np.float64(middle) + moved, (square if square > 0.0 or square != square else 0.0) / count


@scalar
def forget(sums):
    """Both sums 0."""
    sums[0], sums[1] = 0.0, 0.0


# -------------------------------------------------------------------------------------------------- elements
@scalar
def spread(x, out, width, mean, scale, bias):
    """out = (x - mean) * scale + bias."""
    for i in range(width):
        out[i] = (x[i] - mean) * scale + bias


@scalar
def spread_each(x, out, width, mean, scale, weight, bias):
    """out = (x - mean) * scale * weight + bias, both for each element."""
    for i in range(width):
        out[i] = (x[i] - mean) * scale * weight[i] + bias[i]


@scalar
def slopes(g, x, out, width, middle, factor, level, tilt):
    """out = g * factor - level - (x - middle) * tilt."""
    for i in range(width):
        out[i] = g[i] * factor - level - (x[i] - middle) * tilt


@scalar
def slopes_each(g, x, weight, out, weight_part, bias_part, width, middle, scale, level, tilt):
    """As slopes, g with a weight for each element; what the weights' gradients get is added to the parts."""
    for i in range(width):
        deviation = x[i] - middle
        out[i] = g[i] * weight[i] * scale - level - deviation * tilt
        weight_part[i] += g[i] * (deviation * scale)
        bias_part[i] += g[i]


# ----------------------------------------------------------------------------------------------- of a batch
def batch_planes(start, stop, x, weight, bias, out, mean, variance, batch, channels, plane, eps):
    """Unit: a channel; x is (batch, channels, plane)."""
    mark_kernel()
    sums, step, count = stack_of(np.float64, 2), channels * plane, np.float64(batch * plane)
    for channel in range(start, stop):
        corner, target = shift(x, channel * plane), shift(out, channel * plane)
        origin, total = corner[0], 0.0
        for image in range(batch):
            total += line_distance_sum(shift(corner, image * step), plane, origin)
        middle = origin + convert(x, total / count)
        forget(sums)
        for image in range(batch):
            line_deviation_sums(shift(corner, image * step), plane, middle, sums)
        average, square = settled(middle, sums, count)
        mean[channel], variance[channel] = convert(x, average), convert(x, square)
        scale = convert(x, np.float64(weight[channel]) / square_root(square + eps))
        for image in range(batch):
            spread(shift(corner, image * step), shift(target, image * step), plane, mean[channel], scale,
                   bias[channel])


def batch_grad_planes(start, stop, g, x, weight, mean, variance, out, of_weight, of_bias, batch, channels, plane, eps):
    """Unit: a channel; g, x and out are (batch, channels, plane)."""
    mark_kernel()
    sums, step, count = stack_of(np.float64, 2), channels * plane, np.float64(batch * plane)
    for channel in range(start, stop):
        corner, middle = channel * plane, mean[channel]
        forget(sums)
        for image in range(batch):
            place = corner + image * step
            line_slope_sums(shift(g, place), shift(x, place), plane, middle, sums)
        inverse = 1.0 / square_root(np.float64(variance[channel]) + eps)
        of_weight[channel], of_bias[channel] = convert(x, sums[1] * inverse), convert(x, sums[0])
        factor = np.float64(weight[channel]) * inverse
        level, tilt = factor * sums[0] / count, factor * inverse * inverse * sums[1] / count
        for image in range(batch):
            place = corner + image * step
            slopes(shift(g, place), shift(x, place), shift(out, place), plane, middle, convert(x, factor),
                   convert(x, level), convert(x, tilt))


# ----------------------------------------------------------------------------------------------- of rows
def row_kernels(centred):
    """The kernels of rows (groups of channels), about their mean where they are centred, otherwise about 0."""
    @scalar
    def statistics(x, width, sums):
        """The mean of a row, or 0, and its variance about that."""
        origin, middle = x[0], convert(x, 0)
        if centred:
            middle = origin + convert(x, line_distance_sum(x, width, origin) / np.float64(width))
        forget(sums)
        line_deviation_sums(x, width, middle, sums)
        if centred:
            return settled(middle, sums, np.float64(width))
        return 0.0, sums[1] / np.float64(width)

    def rows(start, stop, x, weight, bias, out, mean, variance, groups, channels, plane, eps):
        """Unit: a row, one of `groups` of `channels` planes; weight and bias are (groups * channels,)."""
        mark_kernel()
        sums, width = stack_of(np.float64, 2), channels * plane
        for row in range(start, stop):
            line, target, first = shift(x, row * width), shift(out, row * width), row % groups * channels
            average, square = statistics(line, width, sums)
            mean[row], variance[row] = convert(x, average), convert(x, square)
            inverse = 1.0 / square_root(square + eps)
            if plane == 1:
                spread_each(line, target, width, mean[row], convert(x, inverse), shift(weight, first),
                            shift(bias, first))
            else:
                for channel in range(channels):
                    scale = convert(x, np.float64(weight[first + channel]) * inverse)
                    spread(shift(line, channel * plane), shift(target, channel * plane), plane, mean[row], scale,
                           bias[first + channel])

    def grad_planes(start, stop, g, x, weight, mean, variance, out, parts, groups, channels, plane, eps):
        """Unit: a row. parts: for each plane the sum of g, and after those of all planes, of g times x normalised."""
        mark_kernel()
        sums, width, count = stack_of(np.float64, 2), channels * plane, np.float64(channels * plane)
        for row in range(start, stop):
            first, middle = row % groups * channels, mean[row]
            inverse, total, moment = 1.0 / square_root(np.float64(variance[row]) + eps), 0.0, 0.0
            for channel in range(channels):
                place = row * width + channel * plane
                forget(sums)
                line_slope_sums(shift(g, place), shift(x, place), plane, middle, sums)
                parts[2 * (row * channels + channel)] = sums[0]
                parts[2 * (row * channels + channel) + 1] = sums[1] * inverse
                total += sums[0] * np.float64(weight[first + channel])
                moment += sums[1] * np.float64(weight[first + channel])
            level = inverse * total / count if centred else 0.0
            tilt = inverse * inverse * inverse * moment / count
            for channel in range(channels):
                place = row * width + channel * plane
                factor = convert(x, np.float64(weight[first + channel]) * inverse)
                slopes(shift(g, place), shift(x, place), shift(out, place), plane, middle, factor,
                       convert(x, level), convert(x, tilt))

    def grad_rows(start, stop, g, x, weight, mean, variance, out, weight_parts, bias_parts, rows, width, eps):
        """Unit: a block of ROW_BLOCK rows of planes of one element, which leaves its part of the weights' gradients."""
        mark_kernel()
        sums, count = stack_of(np.float64, 2), np.float64(width)
        for unit in range(start, stop):
            weight_part, bias_part = shift(weight_parts, unit * width), shift(bias_parts, unit * width)
            for i in range(width):
                weight_part[i], bias_part[i] = convert(x, 0), convert(x, 0)
            for row in range(unit * ROW_BLOCK, min(rows, (unit + 1) * ROW_BLOCK)):
                slope, line, middle = shift(g, row * width), shift(x, row * width), mean[row]
                forget(sums)
                for first in range(0, width, BLOCK):
                    weighted_slope_sums(shift(slope, first), shift(line, first), shift(weight, first),
                                        min(BLOCK, width - first), middle, sums)
                inverse = 1.0 / square_root(np.float64(variance[row]) + eps)
                level = inverse * sums[0] / count if centred else 0.0
                tilt = inverse * inverse * inverse * sums[1] / count
                slopes_each(slope, line, weight, shift(out, row * width), weight_part, bias_part, width, middle,
                            convert(x, inverse), convert(x, level), convert(x, tilt))
    return rows, grad_planes, grad_rows


rows, grad_planes, grad_rows = row_kernels(True)
plain_rows, plain_grad_planes, plain_grad_rows = row_kernels(False)

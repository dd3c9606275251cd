"""Normalisation: statistics of a batch or of rows, the normalised elements, and the gradient, each in one kernel.

Statistics are sums of deviations from a rough mean, that of a few elements, and of their squares, of which the first
corrects the second (T. F. Chan, G. H. Golub and R. J. LeVeque, The American Statistician 37, 1983). Where the mean
turns out to be farther from the rough one than elements are from each other, the sums are taken again about it. Blocks
are summed in the element type and totalled in float64. The rough mean is one of distances to the first element, so that
equal elements deviate by nothing.

`width` is that of contiguous elements, `plane` that of those which share a channel. `past`: whether results are stored
past the caches.
"""

import numpy as np

from ..intrinsics import mark_kernel, square_root
from .streams import finish_stores, store_past
from .typed import block, clear, convert, finite_or_zero, out_of_line, plus, scalar, shift, stack_like, stack_of

BLOCK, ROW_BLOCK, CHANNELS, FEW = 1024, 32, 32, 64


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
def rough_mean(x, width):
    """The mean of the first elements."""
    origin, count = x[0], min(FEW, width)
    return finite_or_zero(x, origin + distance_sum(x, count, origin) / convert(x, count))


@scalar
def is_far(sums, count):
    """Is the mean farther from the middle than the deviation from it?"""
    return 2.0 * sums[0] * sums[0] > sums[1] * count


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
def place(x, out, width, mean, scale, bias, buffer, past):
    """`spread`; past the caches by a buffer of BLOCK elements, as below."""
    if not past:
        spread(x, out, width, mean, scale, bias)
        return
    for first in range(0, width, BLOCK):
        count = min(BLOCK, width - first)
        spread(shift(x, first), buffer, count, mean, scale, bias)
        store_past(shift(out, first), buffer, count)


@scalar
def place_each(x, out, width, mean, scale, weight, bias, buffer, past):
    """`spread_each`, or that past the caches."""
    if not past:
        spread_each(x, out, width, mean, scale, weight, bias)
        return
    for first in range(0, width, BLOCK):
        count = min(BLOCK, width - first)
        spread_each(shift(x, first), buffer, count, mean, scale, shift(weight, first), shift(bias, first))
        store_past(shift(out, first), buffer, count)


@scalar
def slopes(g, x, out, width, middle, factor, level, tilt):
    """out = g * factor - level - (x - middle) * tilt."""
    for i in range(width):
        out[i] = g[i] * factor - level - (x[i] - middle) * tilt


@scalar
def slopes_each(g, x, weight, out, weight_part, bias_part, width, middle, scale, level, tilt):
    """As slopes, g with a weight for each element; what the weights' gradients get is added to the parts."""
    for i in range(width):
        slope, deviation = g[i] * scale, x[i] - middle
        out[i] = slope * weight[i] - level - deviation * tilt
        weight_part[i] += slope * deviation
        bias_part[i] += g[i]


@scalar
def place_slopes(g, x, out, width, middle, factor, level, tilt, buffer, past):
    """`slopes`, or that past the caches."""
    if not past:
        slopes(g, x, out, width, middle, factor, level, tilt)
        return
    for first in range(0, width, BLOCK):
        count = min(BLOCK, width - first)
        slopes(shift(g, first), shift(x, first), buffer, count, middle, factor, level, tilt)
        store_past(shift(out, first), buffer, count)


@scalar
def place_slopes_each(g, x, weight, out, weight_part, bias_part, width, middle, scale, level, tilt, buffer, past):
    """`slopes_each`, or that past the caches."""
    if not past:
        slopes_each(g, x, weight, out, weight_part, bias_part, width, middle, scale, level, tilt)
        return
    for first in range(0, width, BLOCK):
        count = min(BLOCK, width - first)
        slopes_each(shift(g, first), shift(x, first), shift(weight, first), buffer, shift(weight_part, first),
                    shift(bias_part, first), count, middle, scale, level, tilt)
        store_past(shift(out, first), buffer, count)


# ----------------------------------------------------------------------------------------------- of a batch
# A unit takes several channels whose planes are small: memory is then read in longer pieces.
@scalar
def plane_sums(x, batch, channels, plane, step, middle, sums):
    """sums = for each channel the deviations from its middle, and their squares."""
    for channel in range(2 * channels):
        sums[channel] = 0.0
    for image in range(batch):
        for channel in range(channels):
            line_deviation_sums(shift(x, image * step + channel * plane), plane, middle[channel],
                                shift(sums, 2 * channel))


def batch_planes(start, stop, x, weight, bias, out, mean, variance, batch, channels, plane, together, past, eps):
    """Unit: `together` (at most CHANNELS) channels; x is (batch, channels, plane)."""
    mark_kernel()
    sums, step, count = stack_of(np.float64, 2 * CHANNELS), channels * plane, np.float64(batch * plane)
    middle, scale, buffer = stack_like(x, CHANNELS), stack_like(x, CHANNELS), stack_like(x, BLOCK)
    for unit in range(start, stop):
        first = unit * together
        here, corner, target = min(together, channels - first), shift(x, first * plane), shift(out, first * plane)
        for channel in range(here):
            middle[channel] = rough_mean(shift(corner, channel * plane), plane)
        plane_sums(corner, batch, here, plane, step, middle, sums)
        for channel in range(here):
            pair = shift(sums, 2 * channel)
            if is_far(pair, count):
                middle[channel] += convert(x, pair[0] / count)
                plane_sums(shift(corner, channel * plane), batch, 1, plane, step, shift(middle, channel), pair)
        for channel in range(here):
            average, square = settled(middle[channel], shift(sums, 2 * channel), count)
            mean[first + channel], variance[first + channel] = convert(x, average), convert(x, square)
            scale[channel] = convert(x, np.float64(weight[first + channel]) / square_root(square + eps))
        for image in range(batch):
            for channel in range(here):
                at = image * step + channel * plane
                place(shift(corner, at), shift(target, at), plane, mean[first + channel], scale[channel],
                      bias[first + channel], buffer, past)
    finish_stores()


def batch_grad_planes(start, stop, g, x, weight, mean, variance, out, of_weight, of_bias, batch, channels, plane,
                      together, past, eps):
    """Unit: `together` (at most CHANNELS) channels; g, x and out are (batch, channels, plane)."""
    mark_kernel()
    sums, step, count = stack_of(np.float64, 2 * CHANNELS), channels * plane, np.float64(batch * plane)
    factor, level, tilt = stack_like(x, CHANNELS), stack_like(x, CHANNELS), stack_like(x, CHANNELS)
    buffer = stack_like(x, BLOCK)
    for unit in range(start, stop):
        first = unit * together
        here = min(together, channels - first)
        for channel in range(2 * here):
            sums[channel] = 0.0
        for image in range(batch):
            for channel in range(here):
                at = image * step + (first + channel) * plane
                line_slope_sums(shift(g, at), shift(x, at), plane, mean[first + channel],
                                shift(sums, 2 * channel))
        for channel in range(here):
            total, moment = sums[2 * channel], sums[2 * channel + 1]
            inverse = 1.0 / square_root(np.float64(variance[first + channel]) + eps)
            of_weight[first + channel], of_bias[first + channel] = convert(x, moment * inverse), convert(x, total)
            wide = np.float64(weight[first + channel]) * inverse
            factor[channel], level[channel] = convert(x, wide), convert(x, wide * total / count)
            tilt[channel] = convert(x, wide * inverse * inverse * moment / count)
        for image in range(batch):
            for channel in range(here):
                at = image * step + (first + channel) * plane
                place_slopes(shift(g, at), shift(x, at), shift(out, at), plane, mean[first + channel],
                             factor[channel], level[channel], tilt[channel], buffer, past)
    finish_stores()


def remember(start, stop, running, found, share, factor):
    """Unit: a channel, whose running statistic moves by a share towards what was found, times a factor."""
    mark_kernel()
    kept, gained = convert(running, 1.0 - share), convert(running, share * factor)
    for channel in range(start, stop):
        running[channel] = running[channel] * kept + found[channel] * gained


# ----------------------------------------------------------------------------------------------- of rows
def row_statistics(centred):
    """A function: the mean of a row, or 0 where rows are not centred, and its variance about that."""
    @scalar
    def statistics(x, width, sums):
        count, middle = np.float64(width), rough_mean(x, width) if centred else convert(x, 0)
        forget(sums)
        line_deviation_sums(x, width, middle, sums)
        if not centred:
            return 0.0, sums[1] / count
        if is_far(sums, count):
            middle += convert(x, sums[0] / count)
            forget(sums)
            line_deviation_sums(x, width, middle, sums)
        return settled(middle, sums, count)
    return statistics


def row_kernels(centred):
    """The kernels of rows (groups of channels), about their mean where they are centred, otherwise about 0."""
    statistics = row_statistics(centred)

    def rows(start, stop, x, weight, bias, out, mean, variance, groups, channels, plane, past, eps):
        """Unit: a row, one of `groups` of `channels` planes; weight and bias are (groups * channels,)."""
        mark_kernel()
        sums, width, buffer = stack_of(np.float64, 2), channels * plane, stack_like(x, BLOCK)
        for row in range(start, stop):
            line, target, first = shift(x, row * width), shift(out, row * width), row % groups * channels
            average, square = statistics(line, width, sums)
            mean[row], variance[row] = convert(x, average), convert(x, square)
            inverse = 1.0 / square_root(square + eps)
            factors, levels = shift(weight, first), shift(bias, first)
            if plane == 1:
                place_each(line, target, width, mean[row], convert(x, inverse), factors, levels, buffer, past)
            else:
                for channel in range(channels):
                    scale = convert(x, np.float64(factors[channel]) * inverse)
                    place(shift(line, channel * plane), shift(target, channel * plane), plane, mean[row], scale,
                          levels[channel], buffer, past)
        finish_stores()

    def grad_planes(start, stop, g, x, weight, mean, variance, out, parts, groups, channels, plane, past, eps):
        """Unit: a row. parts: for each plane the sum of g, and after those of all planes, of g times x normalised."""
        mark_kernel()
        sums, width, count = stack_of(np.float64, 2), channels * plane, np.float64(channels * plane)
        buffer = stack_like(x, BLOCK)
        for row in range(start, stop):
            first, middle = row % groups * channels, mean[row]
            inverse, total, moment = 1.0 / square_root(np.float64(variance[row]) + eps), 0.0, 0.0
            for channel in range(channels):
                at = row * width + channel * plane
                forget(sums)
                line_slope_sums(shift(g, at), shift(x, at), plane, middle, sums)
                parts[2 * (row * channels + channel)] = sums[0]
                parts[2 * (row * channels + channel) + 1] = sums[1] * inverse
                total += sums[0] * np.float64(weight[first + channel])
                moment += sums[1] * np.float64(weight[first + channel])
            level = inverse * total / count if centred else 0.0
            tilt = inverse * inverse * inverse * moment / count
            for channel in range(channels):
                at = row * width + channel * plane
                factor = convert(x, np.float64(weight[first + channel]) * inverse)
                place_slopes(shift(g, at), shift(x, at), shift(out, at), plane, middle, factor,
                             convert(x, level), convert(x, tilt), buffer, past)
        finish_stores()

    def grad_rows(start, stop, g, x, weight, mean, variance, out, weight_parts, bias_parts, rows, width, past, eps):
        """Unit: a block of ROW_BLOCK rows of planes of one element, which leaves its part of the weights' gradients.

        One row at a time: two would save a fifth in the cache, but took twice the time for arrays beyond it.
        """
        mark_kernel()
        sums, count, buffer = stack_of(np.float64, 2), np.float64(width), stack_like(x, BLOCK)
        for unit in range(start, stop):
            weight_part, bias_part = shift(weight_parts, unit * width), shift(bias_parts, unit * width)
            clear(weight_part, width)
            clear(bias_part, width)
            for row in range(unit * ROW_BLOCK, min(rows, (unit + 1) * ROW_BLOCK)):
                slope, line, middle = shift(g, row * width), shift(x, row * width), mean[row]
                forget(sums)
                for first in range(0, width, BLOCK):
                    weighted_slope_sums(shift(slope, first), shift(line, first), shift(weight, first),
                                        min(BLOCK, width - first), middle, sums)
                inverse = 1.0 / square_root(np.float64(variance[row]) + eps)
                level = inverse * sums[0] / count if centred else 0.0
                tilt = inverse * inverse * inverse * sums[1] / count
                place_slopes_each(slope, line, weight, shift(out, row * width), weight_part, bias_part, width, middle,
                                  convert(x, inverse), convert(x, level), convert(x, tilt), buffer, past)
        finish_stores()
    return rows, grad_planes, grad_rows


rows, grad_planes, grad_rows = row_kernels(True)
plain_rows, plain_grad_planes, plain_grad_rows = row_kernels(False)

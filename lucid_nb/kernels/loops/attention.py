"""Attention by blocks: QUERIES queries meet KEYS keys at a time, and only their scores exist.

Forward: a running maximum and sum for each query; what was added up before is scaled when the maximum grows. Backward:
the weights are made anew from the scores, their maximum and their sum, by blocks of keys, whose gradients add up while
the queries pass by. (Their maximum and the logarithm of their sum in one number, as there, would be rounded to the last
place of large scores, and all weights be off by that.) Source: T. Dao et al., FlashAttention, arXiv:2205.14135.

`sizes` of both: heads, groups (heads of keys), queries, keys, features of keys and of values, whether there is a mask,
whether it is causal, the width of a panel, elements of a panel of packed keys and of packed values; then the steps from
batch to batch, head to head and row to row: of q, k, v, the mask, and the result; backward of g, dq, dk, dv as well.

`drop`: weights are dropped whose random word is not below drop[0], none where that is negative; two words of a key, and
the number of a stream. A block of 1024 words is for TILE_ROWS queries and KEYS keys, so that a block of weights needs
whole blocks of words only; they are numbered through keys, then queries, heads and batches.
"""

import numpy as np

from ..intrinsics import address_of, call_address, mark_kernel, multiply_add
from .random import BLOCK, fill
from .softmax import inverse, reference
from .typed import (
    block,
    clear,
    convert,
    exponential,
    larger_but_zeros,
    out_of_line,
    plus,
    rounded,
    scalar,
    shift,
    stack_like,
    stack_of,
)

QUERIES, KEYS = 64, 128                    # of a block
TILE_ROWS = BLOCK // KEYS                  # for which a block of random words is
WORDS = 4294967296.0                       # that there are
STEPS = 11                                 # where they begin in `sizes`
CHAINS = 8                                 # sums that grow side by side, each waiting for its last addition


@scalar
def head_of(x, sizes, number, batch, head):
    """Operand `number` at a head of a batch."""
    return shift(x, batch * sizes[STEPS + 3 * number] + head * sizes[STEPS + 3 * number + 1])


@scalar
def row_step(sizes, number):
    """The step from row to row of operand `number`."""
    return sizes[STEPS + 3 * number + 2]


@scalar
def multiply(product, rows, cols, depth, a, a_row, a_step, b, b_row, b_panel, c, c_row, add):
    """c = a b, or c += a b: kernels/block_product.py."""
    call_address(product, rows, cols, depth, address_of(a), a_row, a_step, address_of(b), b_row, b_panel,
                 address_of(c), c_row, np.int64(add))


@block
def scaled_max(line, count, scale):
    """The largest element of line * scale, at least -inf."""
    mark_kernel()
    out_of_line()
    best = convert(line, -np.inf)
    for j in range(count):
        best = larger_but_zeros(best, line[j] * scale)
    return best


@block
def masked_max(line, mask, count, scale):
    """line = line * scale + mask; its largest element, at least -inf."""
    mark_kernel()
    out_of_line()
    best = convert(line, -np.inf)
    for j in range(count):
        line[j] = line[j] * scale + mask[j]
        best = larger_but_zeros(best, line[j])
    return best


@rounded
def distance(score, scale, top):
    """score * scale - top, rounded as the maximum was: exactly 0 there, so that a weight that is alone is exactly 1."""
    return score * scale - top


@block
def powers(line, count, scale, top):
    """line = exp(line * scale - top); the sum."""
    mark_kernel()
    out_of_line()
    total = convert(line, 0)
    for j in range(count):
        value = exponential(distance(line[j], scale, top))
        line[j] = value
        total = plus(total, value)
    return total


@scalar
def scale_row(line, count, factor):
    """line *= factor."""
    for j in range(count):
        line[j] *= factor


@scalar
def seen_by(query, first, count, causal):
    """How many of `count` keys from `first` on a query may look at."""
    return max(0, min(count, query + 1 - first)) if causal else count


@block
def keep(words, factors, bound, scale):
    """factors = `scale` where a word is below `bound`, otherwise 0."""
    mark_kernel()
    out_of_line()
    for j in range(BLOCK):
        factors[j] = scale if words[j] < bound else convert(factors, 0)


@scalar
def draw_factors(factors, words, drop, place, query, rows, first, sizes):
    """What dropout multiplies the weights of a block with; `place` counts heads through batches."""
    bound, scale = np.uint32(drop[0]), convert(factors, WORDS / max(1.0, float(drop[0])) if drop[0] > 0 else 0.0)
    row_tiles, key_tiles = (sizes[2] + TILE_ROWS - 1) // TILE_ROWS, (sizes[3] + KEYS - 1) // KEYS
    for tile in range((rows + TILE_ROWS - 1) // TILE_ROWS):
        number = (place * row_tiles + query // TILE_ROWS + tile) * key_tiles + first // KEYS
        fill(words, number, np.uint64(drop[1]), np.uint64(drop[2]), np.uint64(drop[3]))
        keep(words, shift(factors, tile * BLOCK), bound, scale)


@scalar
def multiply_rows(x, factors, rows, count):
    """x *= factors, in the first `count` columns of a block."""
    for i in range(rows):
        line, other = shift(x, i * KEYS), shift(factors, i * KEYS)
        for j in range(count):
            line[j] *= other[j]


@scalar
def weigh(scores, mask, mask_step, first_query, rows, first, count, sizes, scale, tops, totals, out, out_step):
    """Scores become exp(score - maximum); running maxima, sums and the rows of out follow."""
    is_masked, causal, features = sizes[6], sizes[7], sizes[5]
    for i in range(rows):
        line, target = shift(scores, i * KEYS), shift(out, i * out_step)
        seen = seen_by(first_query + i, first, count, causal)
        if is_masked:
            best = masked_max(line, shift(mask, (first_query + i) * mask_step + first), seen, scale)
            factor = convert(line, 1)
        else:
            best = scaled_max(line, seen, scale)
            factor = scale
        best = larger_but_zeros(best, tops[i])
        top = reference(best, line)
        if first > 0 and best != tops[i]:
            shrinking = exponential(tops[i] - top)
            totals[i] *= shrinking
            scale_row(target, features, shrinking)
        totals[i] += powers(line, seen, factor, top)
        tops[i] = best
        clear(shift(line, seen), count - seen)


@scalar
def settle(out, out_step, sums, rows, features, tops, totals):
    """out /= sum of weights, 0 where there are none; sums = what scores were compared to, and 1 / sum or 0."""
    for i in range(rows):
        share = convert(out, inverse(np.float64(totals[i])))
        scale_row(shift(out, i * out_step), features, share)
        sums[2 * i], sums[2 * i + 1] = reference(tops[i], sums), share


def attend(start, stop, q, keys, v, mask, out, sums, sizes, drop, product, scale):
    """Unit: a block of queries of a head. `keys` are packed; sums (heads, queries, 2) is contiguous."""
    mark_kernel()
    heads, groups, length, reach = sizes[0], sizes[1], sizes[2], sizes[3]
    depth, features, width, panel = sizes[4], sizes[5], sizes[8], sizes[9]
    scores, tops, totals = stack_like(q, QUERIES * KEYS), stack_like(q, QUERIES), stack_like(q, QUERIES)
    factors, words = stack_like(q, QUERIES * KEYS), stack_of(np.uint32, BLOCK)
    blocks, panels, ratio = (length + QUERIES - 1) // QUERIES, (reach + width - 1) // width, convert(q, scale)
    for unit in range(start, stop):
        query, place = unit % blocks * QUERIES, unit // blocks
        head, batch = place % heads, place // heads
        group, rows = head // (heads // groups), min(QUERIES, length - query)
        line = shift(head_of(q, sizes, 0, batch, head), query * row_step(sizes, 0))
        packed = shift(keys, (batch * groups + group) * panels * panel)
        values, bias = head_of(v, sizes, 2, batch, group), head_of(mask, sizes, 3, batch, head)
        target = shift(head_of(out, sizes, 4, batch, head), query * row_step(sizes, 4))
        for i in range(rows):
            tops[i], totals[i] = convert(q, -np.inf), convert(q, 0)
        limit = min(reach, query + rows) if sizes[7] else reach
        for first in range(0, limit, KEYS):
            count = min(KEYS, limit - first)
            multiply(product, rows, count, depth, line, row_step(sizes, 0), 1, shift(packed, first // width * panel),
                     width, panel, scores, KEYS, False)
            weigh(scores, bias, row_step(sizes, 3), query, rows, first, count, sizes, ratio, tops, totals, target,
                  row_step(sizes, 4))
            if drop[0] >= 0:
                draw_factors(factors, words, drop, place, query, rows, first, sizes)
                multiply_rows(scores, factors, rows, count)
            multiply(product, rows, features, count, scores, KEYS, 1, shift(values, first * row_step(sizes, 2)),
                     row_step(sizes, 2), width, target, row_step(sizes, 4), first > 0)
        settle(target, row_step(sizes, 4), shift(sums, 2 * (place * length + query)), rows, features, tops, totals)


# ----------------------------------------------------------------------------------------------- gradients
@block
def slopes(line, slope, count, scale, top, share, delta):
    """line = the weights exp(line * scale - top) * share, slope = weight * (slope - delta) * scale."""
    mark_kernel()
    out_of_line()
    for j in range(count):
        weight = exponential(distance(line[j], scale, top)) * share
        line[j] = weight
        slope[j] = weight * (slope[j] - delta) * scale


@block
def masked_slopes(line, slope, mask, count, scale, top, share, delta):
    """As `slopes` with scores line * scale + mask, but slope is left unscaled."""
    mark_kernel()
    out_of_line()
    for j in range(count):
        weight = exponential(line[j] * scale + mask[j] - top) * share
        line[j] = weight
        slope[j] = weight * (slope[j] - delta)


@scalar
def add_row(x, total, count):
    """total += x."""
    for j in range(count):
        total[j] += x[j]


@scalar
def weigh_again(scores, slope, mask, dmask, mask_step, query, rows, first, count, sizes, scale, sums, deltas):
    """Scores become weights, gradients of weights those of scores; dmask += them where it is wanted (sizes[6] 2)."""
    is_masked, causal = sizes[6], sizes[7]
    for i in range(rows):
        line, above = shift(scores, i * KEYS), shift(slope, i * KEYS)
        seen, top, share = seen_by(query + i, first, count, causal), sums[2 * (query + i)], sums[2 * (query + i) + 1]
        if is_masked:
            place = (query + i) * mask_step + first
            masked_slopes(line, above, shift(mask, place), seen, scale, top, share, deltas[query + i])
            if is_masked == 2:
                add_row(above, shift(dmask, place), seen)
            scale_row(above, seen, scale)
        else:
            slopes(line, above, seen, scale, top, share, deltas[query + i])
        clear(shift(line, seen), count - seen)
        clear(shift(above, seen), count - seen)


@scalar
def clear_rows(x, step, rows, cols):
    """x = 0."""
    for i in range(rows):
        clear(shift(x, i * step), cols)


@scalar
def dot_lines(x, x_step, y, y_step, rows, cols, sums):
    """sums += x * y of each row, column by column."""
    for j in range(cols):
        for i in range(rows):
            sums[i] = multiply_add(x[i * x_step + j], y[i * y_step + j], sums[i])


@scalar
def dot_rows(x, x_step, y, y_step, rows, cols, out):
    """out = the sum of x * y of each row, one chain of additions from the first column on, as a product adds.

    Where a query looks at one key, the two sums of `slopes` are of equal numbers, and cancel if rounded alike.
    """
    for first in range(0, rows, CHAINS):
        here, there, sums = shift(x, first * x_step), shift(y, first * y_step), shift(out, first)
        count = min(CHAINS, rows - first)
        clear(sums, count)
        if count == CHAINS:
            dot_lines(here, x_step, there, y_step, CHAINS, cols, sums)
        else:
            dot_lines(here, x_step, there, y_step, count, cols, sums)


@scalar
def pass_queries(first, all_keys, q, g, dq, k, keys, values, dk, dv, mask, dmask, sums, deltas, sizes, drop, place,
                 product, scale, scores, slope, factors, words):
    """What the queries of a head and `all_keys` keys from `first` on are to each other: dq, dk and dv grow."""
    length, depth, features, width = sizes[2], sizes[4], sizes[5], sizes[8]
    q_step, k_step, g_step, dq_step = row_step(sizes, 0), row_step(sizes, 1), row_step(sizes, 5), row_step(sizes, 6)
    for query in range(first if sizes[7] else 0, length, QUERIES):
        rows = min(QUERIES, length - query)
        count = min(all_keys, query + rows - first) if sizes[7] else all_keys
        line, above = shift(q, query * q_step), shift(g, query * g_step)
        multiply(product, rows, count, depth, line, q_step, 1, keys, width, sizes[9], scores, KEYS, False)
        multiply(product, rows, count, features, above, g_step, 1, values, width, sizes[10], slope, KEYS, False)
        if drop[0] >= 0:
            draw_factors(factors, words, drop, place, query, rows, first, sizes)
            multiply_rows(slope, factors, rows, count)
        weigh_again(scores, slope, mask, dmask, row_step(sizes, 3), query, rows, first, count, sizes, scale, sums,
                    deltas)
        if drop[0] >= 0:
            multiply_rows(scores, factors, rows, count)
        multiply(product, count, features, rows, scores, 1, KEYS, above, g_step, width, dv, row_step(sizes, 8),
                 True)
        multiply(product, count, depth, rows, slope, 1, KEYS, line, q_step, width, dk, row_step(sizes, 7), True)
        multiply(product, rows, depth, count, slope, KEYS, 1, k, k_step, width, shift(dq, query * dq_step), dq_step,
                 first > 0)


def attend_grad(start, stop, q, k, keys, values, mask, out, sums, g, dq, dk, dv, dmask, deltas, sizes, drop, product,
                scale):
    """Unit: a head of keys with all heads of queries that look at it. `keys` and `values` are packed."""
    mark_kernel()
    heads, groups, length, reach = sizes[0], sizes[1], sizes[2], sizes[3]
    depth, features, width, ratio = sizes[4], sizes[5], sizes[8], convert(q, scale)
    scores, slope = stack_like(q, QUERIES * KEYS), stack_like(q, QUERIES * KEYS)
    factors, words = stack_like(q, QUERIES * KEYS), stack_of(np.uint32, BLOCK)
    panels, members = (reach + width - 1) // width, heads // groups
    for unit in range(start, stop):
        batch, group = unit // groups, unit % groups
        for head in range(group * members, (group + 1) * members):
            dot_rows(head_of(g, sizes, 5, batch, head), row_step(sizes, 5), head_of(out, sizes, 4, batch, head),
                     row_step(sizes, 4), length, features, shift(deltas, (batch * heads + head) * length))
        for first in range(0, reach, KEYS):
            count = min(KEYS, reach - first)
            dk_here = shift(head_of(dk, sizes, 7, batch, group), first * row_step(sizes, 7))
            dv_here = shift(head_of(dv, sizes, 8, batch, group), first * row_step(sizes, 8))
            panel = unit * panels + first // width
            clear_rows(dk_here, row_step(sizes, 7), count, depth)
            clear_rows(dv_here, row_step(sizes, 8), count, features)
            for head in range(group * members, (group + 1) * members):
                place = batch * heads + head
                pass_queries(
                    first, count, head_of(q, sizes, 0, batch, head), head_of(g, sizes, 5, batch, head),
                    head_of(dq, sizes, 6, batch, head),
                    shift(head_of(k, sizes, 1, batch, group), first * row_step(sizes, 1)),
                    shift(keys, panel * sizes[9]), shift(values, panel * sizes[10]), dk_here, dv_here,
                    head_of(mask, sizes, 3, batch, head), head_of(dmask, sizes, 9, batch, head),
                    shift(sums, 2 * place * length), shift(deltas, place * length), sizes, drop, place, product, ratio,
                    scores, slope, factors, words)

"""The kernels of attention: a tile of scores at a time, with a running maximum and sum; no matrix of all scores.

The gradient makes the weights anew, from scores that are computed as they were, their maximum and their sum: once by
blocks of queries for theirs, once by blocks of keys for those of keys and values. Nothing is added by two blocks.
Source: T. Dao et al., FlashAttention, arXiv:2205.14135.

`given` are the facts of attention_tiles.py: pieces of work, heads, heads of queries to one of keys, queries, keys,
features of keys and of values, whether query i looks at keys up to i only, and places of arrays. `drop`: weights whose
random word is not below the first number are dropped, the others multiplied by `kept`; two words of a key and a stream.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from . import runtime, vectors
from .attention_tiles import (
    BATCH,
    CAUSAL,
    COUNT,
    DEPTH,
    FEATURES,
    GROUP,
    HEAD,
    HEADS,
    LEFT,
    LENGTH,
    MADE,
    MASK,
    MEMBERS,
    OTHER,
    OUT,
    PLACE,
    REACH,
    TOP,
    UNITS,
    G,
    K,
    Q,
    Tile,
    V,
    adder,
    dropper,
    facts_memory,
    keep_facts,
    locator,
    own_of,
    placer,
    rounded_product,
    scorer,
    start_of,
    weigher,
    writer,
)
from .runtime import cuda, shared_memory
from .scalars import compute, widen_to
from .vocabulary import functions


def _memories(number: np.dtype, tile: Tile) -> tuple[Callable, Callable]:
    """Shared memory of slices of operands, and of a tile of weights."""
    return shared_memory(tile.scratch, number), shared_memory(tile.lines * tile.pitch, number)


@cache
def _biased(dtype: np.dtype, is_masked: bool) -> Callable:
    """biased(score, ratio, mask, at): score * ratio, rounded, and the mask's element where there is one.

    Rounded, the largest is at a distance of exactly 0 from the maximum, and a weight that is alone is exactly 1.
    """
    number = compute(dtype)
    rounded, widen, load = rounded_product(number), widen_to(dtype, number), vectors.load(1)

    def biased(score, ratio, mask, at):
        found = rounded(score, ratio)
        return found + widen(load(mask, at)[0]) if is_masked else found
    return runtime.inline(biased)


@cache
def _masker(dtype: np.dtype, tile: Tile, is_masked: bool) -> Callable:
    """mask_scores(scores, facts, ratio, mask, at, query, first): scaled and biased, -inf where nobody looks.

    `at`: where the mask's row of the first query begins.
    """
    side, each, biased, least = tile.side, tile.each, _biased(dtype, is_masked), compute(dtype).type(-np.inf)

    def mask_scores(scores, facts, ratio, mask, at, query, first):
        thread = own_of(facts)
        x, y = first + thread % side * each, thread // side * each
        length, reach, causal = facts[LENGTH], facts[REACH], facts[CAUSAL]
        row, step = facts[MASK + 3], facts[MASK + 4]
        for i in range(each):
            for j in range(each):
                value = least
                if query + y + i < length and x + j < reach and (causal == 0 or x + j <= query + y + i):
                    value = biased(scores[i, j], ratio, mask, at + (y + i) * row + (x + j) * step)
                scores[i, j] = value
    return runtime.block_inline(mask_scores)


@cache
def attend_kernel(dtype: np.dtype, tile: Tile, is_masked: bool, is_dropped: bool) -> Any:
    """Units: a tile of queries of a head, and some columns of its result; `sums` get maxima and 1 / sums."""
    number = compute(dtype)
    side, each, lines, columns = tile.side, tile.each, tile.lines, tile.each * tile.spread
    scalar, zero, one, least = number.type, number.type(0), number.type(1), number.type(-np.inf)
    score, add, weigh, locate = scorer(dtype, tile), adder(dtype, tile), weigher(number, tile), locator(tile, False)
    put, multiply, write = placer(number, tile, False), placer(number, tile, True), writer(dtype, tile)
    mask_scores, draw, load = _masker(dtype, tile, is_masked), dropper(number, tile, False), vectors.load(1)
    scratch_memory, tile_memory = _memories(number, tile)
    partial_memory = shared_memory(tile.threads, number)
    tops_memory, totals_memory, factors_memory = (shared_memory(lines, number) for _ in range(3))

    def attend(q, k, v, mask, out, sums, given, ratio, drop, kept):
        scratch, weights, partial, facts = scratch_memory(), tile_memory(), partial_memory(), facts_memory()
        tops, totals, factors = tops_memory(), totals_memory(), factors_memory()
        scores = cuda.local.array((each, each), dtype=scalar)
        result = cuda.local.array((each, columns), dtype=scalar)
        keep_facts(facts, given)
        unit = cuda.blockIdx.x
        while unit < facts[UNITS]:
            locate(facts, unit, facts[FEATURES])
            limit = min(facts[REACH], facts[TOP] + facts[COUNT]) if facts[CAUSAL] else facts[REACH]
            own = own_of(facts)
            if own < lines:
                tops[own], totals[own] = least, zero
            for i in range(each):
                for j in range(columns):
                    result[i, j] = zero
            for first in range(0, limit, lines):
                count = min(lines, limit - first)
                score(scores, scratch, facts, q, start_of(facts, Q, facts[HEAD], facts[TOP]), Q, facts[COUNT], k,
                      start_of(facts, K, facts[GROUP], first), K, count, facts[DEPTH])
                bias = start_of(facts, MASK, facts[HEAD], facts[TOP])
                mask_scores(scores, facts, ratio, mask, bias, facts[TOP], first)
                put(weights, facts, scores, one)
                weigh(weights, facts, partial, tops, totals, factors)
                if is_dropped:
                    draw(scores, facts, drop, kept, facts[PLACE], facts[TOP], first)
                    multiply(weights, facts, scores, one)
                y = own_of(facts) // side * each
                for i in range(each):
                    factor = load(factors, y + i)[0]
                    for j in range(columns):
                        result[i, j] *= factor
                v_at = start_of(facts, V, facts[GROUP], first) + facts[LEFT] * facts[V + 4]
                add(result, weights, scratch, facts, v, v_at, V, count, facts[FEATURES] - facts[LEFT])
            own = own_of(facts)
            for i in range(each):
                total = load(totals, own // side * each + i)[0]
                share = one / total if total != zero else zero
                for j in range(columns):
                    result[i, j] *= share
            write(out, facts, start_of(facts, OUT, facts[HEAD], facts[TOP]), OUT, result, facts[FEATURES])
            if own < facts[COUNT] and facts[LEFT] == 0:
                at = 2 * (facts[PLACE] * facts[LENGTH] + facts[TOP] + own)
                sums[at] = zero if tops[own] == least else tops[own]
                sums[at + 1] = one / totals[own] if totals[own] != zero else zero
            unit += cuda.gridDim.x
    return runtime.kernel(attend, (tile.threads, 2))


# ------------------------------------------------------------------------------------------------------- gradients
@cache
def _sloper(dtype: np.dtype, tile: Tile, is_masked: bool, is_dropped: bool, is_turned: bool) -> Callable:
    """slope(slopes, weights, ...): gradients of weights become those of scores before the scale.

    `weights` is the tile of scores, whose own elements are read, and where rows are keys (turned) become weights.
    `place` counts heads through batches; `bias`: where the mask of the head begins.
    """
    number = compute(dtype)
    side, each, pitch, scalar, zero = tile.side, tile.each, tile.pitch, number.type, number.type(0)
    biased, draw, exp = _biased(dtype, is_masked), dropper(number, tile, is_turned), functions(number.name)["exp"]
    load, store = vectors.load(1), vectors.store(1)

    def slope(slopes, weights, facts, sums, deltas, mask, bias, place, query, first, ratio, drop, kept):
        factors = cuda.local.array((each, each), dtype=scalar)
        mask_row, mask_step, at, thread = facts[MASK + 3], facts[MASK + 4], place * facts[LENGTH], own_of(facts)
        x, y, length, reach, causal = (thread % side * each, thread // side * each, facts[LENGTH], facts[REACH],
                                       facts[CAUSAL])
        if is_dropped:
            draw(factors, facts, drop, kept, place, query, first)
        for i in range(each):
            for j in range(each):
                row, key = (query + x + j, first + y + i) if is_turned else (query + y + i, first + x + j)
                weight, steep, own = zero, zero, (x + j) * pitch + y + i
                if row < length and key < reach and (causal == 0 or key <= row):
                    value = biased(load(weights, own)[0], ratio, mask, bias + row * mask_row + key * mask_step)
                    share = exp(value - load(sums, 2 * (at + row))[0]) * load(sums, 2 * (at + row) + 1)[0]
                    factor = factors[i, j] if is_dropped else scalar(1)
                    weight, steep = share * factor, share * (slopes[i, j] * factor - load(deltas, at + row)[0])
                slopes[i, j] = steep
                if is_turned:
                    store(weights, own, (weight,))
    return runtime.block_inline(slope)


@cache
def _dotter(dtype: np.dtype) -> Callable:
    """dot(deltas, out, g, facts): the product of each row of out and g.

    One chain of additions from the first feature on, as gradients of weights are: where a query looks at one key both
    are of equal numbers, and cancel.
    """
    number = compute(dtype)
    load, widen, zero = vectors.load(1), widen_to(dtype, number), number.type(0)

    def dot(deltas, out, g, facts):
        own = own_of(facts)
        if own < facts[COUNT]:
            delta, out_step, g_step = zero, facts[OUT + 4], facts[G + 4]
            out_at = start_of(facts, OUT, facts[HEAD], facts[TOP] + own)
            g_at = start_of(facts, G, facts[HEAD], facts[TOP] + own)
            for feature in range(facts[FEATURES]):
                delta += widen(load(g, g_at + feature * g_step)[0]) * widen(load(out, out_at + feature * out_step)[0])
            deltas[facts[PLACE] * facts[LENGTH] + facts[TOP] + own] = delta
        cuda.syncthreads()
    return runtime.block_inline(dot)


@cache
def queries_kernel(dtype: np.dtype, tile: Tile, is_masked: bool, is_dropped: bool, of_mask: bool) -> Any:
    """Units: a tile of queries of a head, and some columns of dq. `deltas` get the products of rows of out and g.

    `steep`: the gradients of all scores, where that of the mask is wanted.
    """
    number = compute(dtype)
    side, each, lines, columns = tile.side, tile.each, tile.lines, tile.each * tile.spread
    scalar, zero, one, dot = number.type, number.type(0), number.type(1), _dotter(dtype)
    score, add, put, write = scorer(dtype, tile), adder(dtype, tile), placer(number, tile, False), writer(dtype, tile)
    slope, locate = _sloper(dtype, tile, is_masked, is_dropped, False), locator(tile, False)
    scratch_memory, tile_memory = _memories(number, tile)

    def attend_queries(q, k, v, mask, out, g, sums, deltas, dq, steep, given, ratio, drop, kept):
        scratch, weights, facts = scratch_memory(), tile_memory(), facts_memory()
        slopes = cuda.local.array((each, each), dtype=scalar)
        result = cuda.local.array((each, columns), dtype=scalar)
        keep_facts(facts, given)
        unit = cuda.blockIdx.x
        while unit < facts[UNITS]:
            locate(facts, unit, facts[DEPTH])
            limit = min(facts[REACH], facts[TOP] + facts[COUNT]) if facts[CAUSAL] else facts[REACH]
            dot(deltas, out, g, facts)
            for i in range(each):
                for j in range(columns):
                    result[i, j] = zero
            for first in range(0, limit, lines):
                count = min(lines, limit - first)
                score(slopes, scratch, facts, q, start_of(facts, Q, facts[HEAD], facts[TOP]), Q, facts[COUNT], k,
                      start_of(facts, K, facts[GROUP], first), K, count, facts[DEPTH])
                put(weights, facts, slopes, one)
                score(slopes, scratch, facts, g, start_of(facts, G, facts[HEAD], facts[TOP]), G, facts[COUNT], v,
                      start_of(facts, V, facts[GROUP], first), V, count, facts[FEATURES])
                slope(slopes, weights, facts, sums, deltas, mask, start_of(facts, MASK, facts[HEAD], 0), facts[PLACE],
                      facts[TOP], first, ratio, drop, kept)
                if of_mask and facts[LEFT] == 0:
                    x, y = own_of(facts) % side * each, own_of(facts) // side * each
                    row = facts[PLACE] * facts[LENGTH] + facts[TOP]
                    for i in range(each):
                        for j in range(each):
                            if y + i < facts[COUNT] and x + j < count:
                                steep[(row + y + i) * facts[REACH] + first + x + j] = slopes[i, j]
                put(weights, facts, slopes, ratio)
                add(result, weights, scratch, facts, k, start_of(facts, K, facts[GROUP], first)
                    + facts[LEFT] * facts[K + 4], K, count, facts[DEPTH] - facts[LEFT])
            write(dq, facts, start_of(facts, MADE, facts[HEAD], facts[TOP]), MADE, result, facts[DEPTH])
            unit += cuda.gridDim.x
    return runtime.kernel(attend_queries, (tile.threads, 2))


@cache
def keys_kernel(dtype: np.dtype, tile: Tile, is_masked: bool, is_dropped: bool) -> Any:
    """Units: a tile of keys of a head of theirs, and some columns of dk and dv."""
    number = compute(dtype)
    each, lines, columns = tile.each, tile.lines, tile.each * tile.spread
    scalar, zero, one = number.type, number.type(0), number.type(1)
    score, add, put, write = scorer(dtype, tile), adder(dtype, tile), placer(number, tile, False), writer(dtype, tile)
    slope, locate = _sloper(dtype, tile, is_masked, is_dropped, True), locator(tile, True)
    scratch_memory, tile_memory = _memories(number, tile)
    steep_memory = shared_memory(lines * tile.pitch, number)

    def attend_keys(q, k, v, mask, g, sums, deltas, dk, dv, given, ratio, drop, kept):
        scratch, weights, steep, facts = scratch_memory(), tile_memory(), steep_memory(), facts_memory()
        slopes = cuda.local.array((each, each), dtype=scalar)
        of_keys = cuda.local.array((each, columns), dtype=scalar)
        of_values = cuda.local.array((each, columns), dtype=scalar)
        keep_facts(facts, given)
        unit = cuda.blockIdx.x
        while unit < facts[UNITS]:
            locate(facts, unit, max(facts[DEPTH], facts[FEATURES]))
            for i in range(each):
                for j in range(columns):
                    of_keys[i, j], of_values[i, j] = zero, zero
            for head in range(facts[GROUP] * facts[MEMBERS], (facts[GROUP] + 1) * facts[MEMBERS]):
                for query in range(facts[TOP] if facts[CAUSAL] else 0, facts[LENGTH], lines):
                    rows = min(lines, facts[LENGTH] - query)
                    score(slopes, scratch, facts, k, start_of(facts, K, facts[GROUP], facts[TOP]), K, facts[COUNT], q,
                          start_of(facts, Q, head, query), Q, rows, facts[DEPTH])
                    put(weights, facts, slopes, one)
                    score(slopes, scratch, facts, v, start_of(facts, V, facts[GROUP], facts[TOP]), V, facts[COUNT], g,
                          start_of(facts, G, head, query), G, rows, facts[FEATURES])
                    slope(slopes, weights, facts, sums, deltas, mask, start_of(facts, MASK, head, 0),
                          facts[BATCH] * facts[HEADS] + head, query, facts[TOP], ratio, drop, kept)
                    put(steep, facts, slopes, ratio)
                    add(of_values, weights, scratch, facts, g, start_of(facts, G, head, query)
                        + facts[LEFT] * facts[G + 4], G, rows, facts[FEATURES] - facts[LEFT])
                    add(of_keys, steep, scratch, facts, q, start_of(facts, Q, head, query)
                        + facts[LEFT] * facts[Q + 4], Q, rows, facts[DEPTH] - facts[LEFT])
            write(dk, facts, start_of(facts, MADE, facts[GROUP], facts[TOP]), MADE, of_keys, facts[DEPTH])
            write(dv, facts, start_of(facts, OTHER, facts[GROUP], facts[TOP]), OTHER, of_values, facts[FEATURES])
            unit += cuda.gridDim.x
    has_little = tile.width <= 64 and not (is_masked and is_dropped)       # in registers: sums, places, random words
    return runtime.kernel(attend_keys, (tile.threads, 2 if has_little else 1))

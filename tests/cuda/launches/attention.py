"""Attention, forward and backward: plain, causal, with masks, groups and dropped weights."""

import lucid_nb.cuda as table

from . import FLOATS, array, launches

TILES = ("each thread holds its scores and its part of results in registers, so that what is read from shared memory "
         "is used several times; one or two blocks of 256 threads with many independent sums hide its latency")
PLACES = "a few places are kept there between tiles, not within the walks"


def both(dtype, depth, groups=16, mask=None, causal=False, drop=None):
    """The result and the gradients."""
    q, k, v = (array((8, heads, 1024, depth), dtype) for heads in (16, groups, groups))
    bias = None if mask is None else array(mask, dtype)
    out, sums = table.attention(q, k, v, bias, causal, 0.125, drop)
    table.attention_grad(q, k, v, bias, out, sums, out, causal, 0.125, bias is not None, drop)


@launches(*FLOATS, "bfloat16", registers=TILES, stack=PLACES)
def heads_of_64(dtype):
    both(dtype, 64, causal=True)


@launches(*FLOATS, registers=TILES, stack=PLACES)
def heads_of_128(dtype):
    both(dtype, 128, groups=4)


@launches("float32", "bfloat16", registers=TILES)
def masked_and_dropped(dtype):
    both(dtype, 64, mask=(8, 1, 1024, 1024), drop=(1 << 31, 1, 2, 3))

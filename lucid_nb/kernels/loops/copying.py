"""Copies: by tiles where the source runs across the target, and past the caches where there is much."""

import numpy as np
from numba import njit

from ..copying import BLOCK, TILE
from ..intrinsics import element
from .streams import LINE, finish_stores, store_past

scalar = njit(error_model="numpy")


@scalar
def copy_tile(source, target, rows, cols, source_step, target_step, width, dtype):
    """target[row, col] = source[col, row]; rows of the source and of the target are contiguous."""
    for row in range(rows):
        there = element(target + row * target_step, dtype)
        for col in range(cols):
            there[col] = element(source + col * source_step + row * width, dtype)[0]


@scalar
def copy_sized(source, target, rows, cols, source_step, target_step, size):
    """`copy_tile` for elements of 2, 4 or 8 bytes."""
    if size == 4:
        copy_tile(source, target, rows, cols, source_step, target_step, size, np.int32)
    elif size == 8:
        copy_tile(source, target, rows, cols, source_step, target_step, size, np.int64)
    else:
        copy_tile(source, target, rows, cols, source_step, target_step, size, np.uint16)


def transpose(start, stop, source, target, size, rows, cols, source_step, source_batch):
    """Bands [start, stop) of TILE target rows, counted over all matrices of a batch: target (batch, rows, cols) in C
    order, source (batch, cols, rows) with `source_step` bytes between rows and `source_batch` between matrices."""
    bands = (rows + TILE - 1) // TILE
    target_step = cols * size
    for band in range(start, stop):
        matrix, first = band // bands, band % bands * TILE
        high = min(TILE, rows - first)
        here = source + matrix * source_batch + first * size
        there = target + (matrix * rows + first) * target_step
        for col in range(0, cols, TILE):
            wide = min(TILE, cols - col)
            copy_sized(here + col * source_step, there + col * size, high, wide, source_step, target_step, size)


def past(start, stop, source, target, step, size):
    """Blocks [start, stop) of BLOCK bytes of a target of `size` bytes, which begins a line; the source moves on by
    `step` bytes a block."""
    for block in range(start, stop):
        here, there = source + block * step, target + block * BLOCK
        count = min(BLOCK, size - block * BLOCK)
        whole = count // LINE * LINE
        store_past(element(there, np.int64), element(here, np.int64), whole // 8)
        out, given = element(there, np.uint8), element(here, np.uint8)
        for i in range(whole, count):
            out[i] = given[i]
    finish_stores()

"""How many threads a multiprocessor holds at once: arithmetic on NVIDIA's published limits.

CUDA C++ Programming Guide 13.0, tables of compute capabilities; registers and shared memory are given out in units.
"""

from typing import NamedTuple


class Limits(NamedTuple):
    """What one multiprocessor has."""

    warps: int
    blocks: int
    shared: int                    # bytes, of which a block takes `reserved` for itself
    reserved: int
    unit: int                      # bytes by which shared memory is given out


WARP, REGISTERS, REGISTER_UNIT = 32, 65_536, 256
LIMITS = {(7, 5): Limits(32, 16, 65_536, 0, 256), (8, 0): Limits(64, 32, 167_936, 1024, 128),
          (9, 0): Limits(64, 32, 233_472, 1024, 128)}


def up(count, unit):
    """The next multiple of a unit."""
    return -(-count // unit) * unit


def blocks_held(capability, threads, shared, registers=0):
    """Blocks that a multiprocessor holds; 0 registers: as if they were no limit."""
    limits = LIMITS[capability]
    warps = up(threads, WARP) // WARP
    found = min(limits.blocks, limits.warps // warps)
    if shared + limits.reserved:
        found = min(found, limits.shared // up(shared + limits.reserved, limits.unit))
    if registers:
        found = min(found, REGISTERS // up(registers * WARP, REGISTER_UNIT) // warps)
    return found


def occupancy(capability, threads, shared, registers):
    """The part of its warps that a multiprocessor holds, from 0 to 1."""
    warps = up(threads, WARP) // WARP
    return blocks_held(capability, threads, shared, registers) * warps / LIMITS[capability].warps


def is_halved(capability, threads, shared, registers):
    """Do registers leave room for half the blocks that would fit otherwise, or fewer?"""
    return 2 * blocks_held(capability, threads, shared, registers) <= blocks_held(capability, threads, shared)

"""Arrays of many examples as arrays of one: what `vmap` runs a function on.

A raw array here hides its leading axis, along which the examples lie. It is a device to everything above: its table has
a rule for each entry, written over the entries of the device below, which may itself be one of these (nested `vmap`).
"""

from . import elementwise, indexing, movement, products, reduction  # noqa: F401
from .chosen import Chosen
from .device import Device
from .levels import Within, active, arranged, built, examples, levels_of, merged, taken_apart
from .raw import Batched, Level, over

__all__ = ["Batched", "Chosen", "Device", "Level", "Within", "active", "arranged", "built", "examples", "levels_of",
           "merged", "over", "taken_apart"]

"""What a call reports."""

import numpy as np


def conditions(function, operands, **ignored):
    """The floating-point conditions that a call reports, and under which names."""
    seen = set()
    with np.errstate(**{"all": "call", "call": lambda kind, flag: seen.add(kind), **ignored}):
        function(*operands)
    return seen

"""What a streaming kernel does for each element, counted in the PTX of the loop that takes most elements a turn."""

import re
from typing import NamedTuple

LETTERS = {"8": 1, "16": 2, "32": 4, "64": 8}
LABEL, BRANCH = re.compile(r"^(\$L\w+):"), re.compile(r"bra(?:\.uni)?\s+(\$L\w+);")
ACCESS = re.compile(r"^(?:@!?%p\d+\s+)?(ld|st)\.global(?:\.\w+)*?(?:\.v(\d))?\.[a-z](\d+)\s")
FLOPS = re.compile(r"^(?:@!?%p\d+\s+)?(fma|mad|add|sub|mul|div|sqrt|rcp|rsqrt|ex2|lg2|sin|cos|tanh|min|max|neg|abs)"
                   r"\.(?:\w+\.)*f(?:16|32|64)\s")


class Stream(NamedTuple):
    """Instructions, and bytes that they move, for each element of the result."""

    loads: float
    stores: float
    loaded: float
    stored: float
    flops: float
    widest: int                    # bytes of the widest access


def loops(lines):
    """The lines of every innermost loop."""
    places = {found[1]: number for number, line in enumerate(lines) if (found := LABEL.match(line))}
    spans = [(places[found[1]], number) for number, line in enumerate(lines)
             if (found := BRANCH.search(line)) and places.get(found[1], number) < number]
    for first, last in spans:
        if not any(first <= begin and end <= last and (begin, end) != (first, last) for begin, end in spans):
            yield lines[first:last + 1]


def accesses(lines, kind):
    """Bytes of each load or store of global memory."""
    found = [match for line in lines if (match := ACCESS.match(line)) and match[1] == kind]
    return [int(match[2] or 1) * LETTERS[match[3]] for match in found]


def flops(lines):
    """Floating-point operations; a fused one counts as two."""
    return sum(1 + (match[1] in ("fma", "mad")) for line in lines if (match := FLOPS.match(line)))


def stream(ptx, itemsize):
    """What the main loop does for an element of a result of so many bytes; None where no loop stores any."""
    lines = [line.strip() for line in ptx.splitlines()]
    bodies = [body for body in loops(lines) if accesses(body, "st")]
    if not bodies:
        return None
    body = max(bodies, key=lambda lines: sum(accesses(lines, "st")))
    loaded, stored = accesses(body, "ld"), accesses(body, "st")
    count = sum(stored) / itemsize
    return Stream(len(loaded) / count, len(stored) / count, sum(loaded) / count, sum(stored) / count,
                  flops(body) / count, max(loaded + stored))

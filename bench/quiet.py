"""Timings of a busy machine are worth nothing: a script that takes wall times asks here first."""

import os
import sys

LIMIT = 0.5                      # processes that run, on the average of the last minute
ANYWAY = "--anyway"


def check() -> bool:
    """May results be kept? Ends the program on a busy machine, unless --anyway was said, which prints only."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load <= LIMIT:
        return True
    said = f"{load:.1f} processes run beside this one on the average of the last minute"
    if ANYWAY not in sys.argv:
        sys.exit(f"bench: {said}. Wait, or pass {ANYWAY} to see rough times, which are not kept.")
    print(f"{said}: times are rough and are not kept", file=sys.stderr)
    return False

"""Timings of a busy machine are worth nothing: a script that takes wall times asks here first."""

import os
import sys
import time
from pathlib import Path

LIMIT, WINDOW = 0.3, 2.0         # processors that others keep busy; seconds in which that is looked at
ANYWAY = "--anyway"
STAT = Path("/proc/stat")


def busy() -> float:
    """Seconds that all processors have worked since the start."""
    user, nice, system, _, _, *others = map(int, STAT.read_text(encoding="ascii").split("\n", 1)[0].split()[1:8])
    return (user + nice + system + sum(others)) / os.sysconf("SC_CLK_TCK")


def check() -> bool:
    """May results be kept? Ends the program on a busy machine, unless --anyway was said, which prints only."""
    if not STAT.exists():
        return True
    before = busy()
    time.sleep(WINDOW)
    working = (busy() - before) / WINDOW
    if working <= LIMIT:
        return True
    said = f"others keep {working:.1f} processors busy"
    if ANYWAY not in sys.argv:
        sys.exit(f"bench: {said}. Wait, or pass {ANYWAY} to see rough times, which are not kept.")
    print(f"{said}: times are rough and are not kept", file=sys.stderr)
    return False

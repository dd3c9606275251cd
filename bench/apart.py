"""Processes that measure, and their parent's side of it: one process with all libraries, or two that take turns.

With several threads each side has a process of its own. PyTorch's OpenMP threads spin for some 8 ms after their work
and would take the cores from ours, so that its process is also left alone for a while before ours goes on.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness import Row

WORKER = Path(__file__).with_name("worker.py")
PAUSE = 0.02                     # seconds that threads of OpenMP have to fall asleep
BUDGET, ROUNDS, FEWEST = 0.35, 11, 3            # seconds for the rounds of a row; the fewest are for slow ones
Event = str | tuple[str, str, Row]               # the group that begins; or a row with its group's title and target


def environment(threads: int) -> dict[str, str]:
    """What tells NumPy's OpenBLAS and JAX how many threads they have; read when they are imported."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen={str(threads > 1).lower()}"
    return os.environ | {"OPENBLAS_NUM_THREADS": str(threads), "NPROC": str(threads), "XLA_FLAGS": flags.strip(),
                         "JAX_PLATFORMS": "cpu"}


class Worker:
    """A process that runs groups; use it in a with statement."""

    def __init__(self, names: Sequence[str], options: Sequence[str], threads: int) -> None:
        self.process = subprocess.Popen([sys.executable, str(WORKER), *names, *options], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(threads))

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None:
            self.process.kill()
        self.process.communicate()
        if kind is None and self.process.returncode:
            raise SystemExit(f"bench: measuring ended with status {self.process.returncode}. Its error is above.")

    def read(self) -> dict[str, Any]:
        """What it says next; empty when it has ended."""
        return json.loads(self.process.stdout.readline() or "{}")

    def ask(self, threads: int) -> float:
        """Seconds of a call with so many threads."""
        self.tell(threads)
        answer = self.read()
        if "seconds" not in answer:
            raise SystemExit("bench: a measuring process ended. Its error is above.")
        return answer["seconds"]

    def tell(self, threads: int) -> None:
        """A number of threads; 0 is for the next row."""
        print(threads, file=self.process.stdin, flush=True)


def event(said: dict[str, Any]) -> Event:
    """What a worker said."""
    if "group" in said:
        return said["group"]
    return said["title"], said["target"], Row(**said["row"])


def together(names: Sequence[str], options: Sequence[str]) -> Iterator[Event]:
    """One process, one thread: all libraries interleaved."""
    with Worker(names, options, 1) as worker:
        while said := worker.read():
            yield event(said)


def in_turn(names: Sequence[str], options: Sequence[str], threads: int, has_peer: bool = True) -> Iterator[Event]:
    """A process for each side. Ours is timed with one thread and with several, the peer with several."""
    sides = [Worker(names, [*options, "--side", "ours", "--threads", str(threads)], threads)]
    said = sides[0].read()
    if has_peer:
        sides.append(Worker(names, [*options, "--side", "peer", "--threads", str(threads)], threads))
        check_same(said, sides[1].read())
    with sides[0], sides[-1]:
        while said:
            if "row" in said:
                take_turns(said["row"], sides, threads)
            yield event(said)
            said = advance(sides, "row" in said)


def advance(sides: Sequence[Worker], is_row: bool) -> dict[str, Any]:
    """What ours says next; one side prepares its row after the other."""
    found = []
    for side in sides:
        if is_row:
            side.tell(0)
        found.append(side.read())
    check_same(*found[:2])
    return found[0]


def check_same(ours: dict[str, Any], peer: dict[str, Any] | None = None) -> None:
    """Both sides must be at one row."""
    if peer is not None and ours != peer:
        raise SystemExit(f"bench: the processes are at different rows: {ours or 'the end'} and {peer or 'the end'}.")


def take_turns(row: dict[str, Any], sides: Sequence[Worker], threads: int) -> None:
    """Fill in the times of a row: medians, and the median of the ratios of neighbours."""
    ours, single, peer = [], [], []
    start = time.perf_counter()
    while len(ours) < ROUNDS and (len(ours) < FEWEST or time.perf_counter() - start < BUDGET):
        order = (threads, 1) if len(ours) % 2 == 0 else (1, threads)
        times = {count: sides[0].ask(count) for count in order}
        ours.append(times[threads])
        single.append(times[1])
        if len(sides) == 2:
            peer.append(sides[1].ask(threads))
            time.sleep(PAUSE)
    row |= {"ours": statistics.median(ours) * 1e6, "single": statistics.median(single) * 1e6}
    if peer:
        row |= {"peer": statistics.median(peer) * 1e6, "ratio": statistics.median(a / b for a, b in zip(ours, peer))}

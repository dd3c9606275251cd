"""The process that measures, started by network.py: it tells every row as a line of JSON.

With --side it measures nothing on its own: for each row it says what it has ready, then answers each number of
threads with the seconds of a call, until it is told 0.
"""

import argparse
import contextlib
import importlib
import json
import sys
import timeit
from collections.abc import Callable
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

import harness
from harness import Group, Pair, Row, settings

import lucid_nb as lnb

HAS_TORCH = find_spec("torch") is not None
SIDES = ("ours", "peer")


def set_threads(ours: int, peer: int) -> None:
    """Of ours and of PyTorch."""
    lnb.set_num_threads(ours)
    if HAS_TORCH:
        import torch
        torch.set_num_threads(peer)


def teller() -> Callable[[dict[str, Any]], None]:
    """What writes lines to the parent; what else is printed goes to the standard error."""
    output, sys.stdout = sys.stdout, sys.stderr
    return lambda message: print(json.dumps(message), file=output, flush=True)


def served(side: str, tell: Callable[[dict[str, Any]], None]) -> Callable[[Group, Row, Pair], None]:
    """What measures one side when it is asked. Ours also checks that both are equal, with one thread for PyTorch."""
    def run(group: Group, row: Row, pair: Pair) -> None:
        if side == "ours" and pair.peer and pair.rtol is not None:
            harness.check_equal(row.label, pair.ours(), pair.peer(), pair.rtol)
        call: Any = pair.ours if side == "ours" else pair.peer
        call()
        numbers: dict[int, int] = {}
        tell(message(group, row))
        for asked in map(int, sys.stdin):
            if not asked:
                break
            set_threads(asked if side == "ours" else 1, asked if side == "peer" else 1)
            if asked not in numbers:
                call()
                numbers[asked] = harness.calls_in(call, pair.seconds)
            tell({"seconds": timeit.timeit(call, number=numbers[asked]) / numbers[asked]})
    return run


def message(group: Group, row: Row) -> dict[str, Any]:
    """A row, and where it belongs."""
    return {"title": group.title, "target": group.target, "row": asdict(row)}


def main() -> None:
    """Run the groups that were named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("groups", nargs="+")
    parser.add_argument("--side", choices=SIDES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=int, default=settings.limit)
    parser.add_argument("--rounds", type=int, default=settings.rounds)
    parser.add_argument("--lucid-python")
    args = parser.parse_args()
    settings.limit, settings.rounds = args.limit, args.rounds
    tell = teller()
    settings.show = lambda group, row: None if args.side else tell(message(group, row))
    if args.side:
        settings.runner = served(args.side, tell)
    set_threads(args.threads if args.side == "ours" else 1, args.threads if args.side == "peer" else 1)
    with contextlib.ExitStack() as stack:
        if args.lucid_python:
            from lucid_dl import Child
            settings.child = stack.enter_context(Child(args.lucid_python))
        for name in args.groups:
            tell({"group": name})
            importlib.import_module(f"groups.{name}").run()


if __name__ == "__main__":
    main()

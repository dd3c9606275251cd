"""What a network spends its time in, beside PyTorch: matrix products, convolutions, pools, norms, whole steps.

    python bench/network.py [gemm convolution pooling ...]      one thread, both sides interleaved in one process
    python bench/network.py --threads 2                         each side in processes of its own

Groups are the modules of bench/groups/, each with a function run(). Without names all of them run, and the table and
the plots are written: bench/results/network.md, or network_2_threads.md. Needs the extra `bench`.
"""

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import harness
import numpy as np
import torch
from harness import Group, Row
from tqdm import tqdm

import lucid_nb as lnb

HERE = Path(__file__).resolve().parent
GROUPS = sorted(path.stem for path in (HERE / "groups").glob("*.py") if path.stem != "__init__")
NAMES = {1: "network"}


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Time what networks are made of beside PyTorch.")
    parser.add_argument("groups", nargs="*", metavar="group", help=f"some of: {' '.join(GROUPS)} (default: all)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each side (default: 1)")
    parser.add_argument("--side", choices=harness.SIDES, default="both", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=harness.RESULTS, help="folder of the table and plots")
    args = parser.parse_args()
    unknown = set(args.groups) - set(GROUPS)
    if unknown:
        parser.error(f"unknown: {' '.join(sorted(unknown))}. Use some of {' '.join(GROUPS)}.")
    return args


def run(names: Sequence[str], threads: int) -> list[Group]:
    """Run groups in this process."""
    torch.set_num_threads(threads)
    lnb.set_num_threads(threads)
    found: list[Group] = []
    for name in tqdm(names, unit="group", disable=len(names) == 1):
        found += importlib.import_module(f"groups.{name}").run()
    return found


def run_apart(names: Sequence[str], threads: int) -> list[Group]:
    """Run each side in a process of its own, group by group: two pools of threads would spin against each other."""
    found: list[Group] = []
    for name in names:
        ours, peer = (in_process(name, threads, side) for side in ("ours", "peer"))
        for mine, theirs in zip(ours, peer):
            mine.rows = [Row(a.label, a.ours / b.ours, a.ours, b.ours, a.flops) for a, b in zip(mine.rows, theirs.rows)]
        found += ours
    return found


def in_process(name: str, threads: int, side: str) -> list[Group]:
    """The groups that a fresh process measured for one side."""
    command = [sys.executable, __file__, name, "--threads", str(threads), "--side", side]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()
    return [Group(g["title"], g["target"], [Row(**row) for row in g["rows"]]) for g in json.loads(lines[-1])]


def main() -> None:
    """Measure, print the groups' means, write the table and the plots."""
    args = parse()
    harness.side = args.side
    names = args.groups or GROUPS
    groups = run(names, args.threads) if args.threads == 1 or args.side != "both" else run_apart(names, args.threads)
    if args.side != "both":
        print(json.dumps([asdict(group) for group in groups]))
        return
    for group in groups:
        print(f"{group.title:40s} mean {group.mean():.2f}  worst {max(r.ratio for r in group.rows):.2f}  "
              f"target {group.target}")
    if not args.groups:
        name = NAMES.get(args.threads, f"network_{args.threads}_threads")
        versions = dict(torch=torch.__version__, numpy=np.__version__, lucid_nb=lnb.__version__)
        title = f"Networks beside PyTorch on the CPU, {args.threads} thread{'s' * (args.threads > 1)}"
        print(harness.write(name, title, groups, versions, args.out))
        import plots  # needs matplotlib, which a table does not
        print(plots.save(groups, args.out / f"{name}.png"))


if __name__ == "__main__":
    main()

"""What a network spends its time in, beside PyTorch and others: products, convolutions, pools, norms, whole steps.

    python bench/network.py [gemm convolution pooling ...]      one thread, all libraries interleaved in one process
    python bench/network.py --threads 2                         beside one thread; each side in a process of its own
    python bench/network.py --lucid-python PYTHON               with lucid-dl of that interpreter (bench/lucid_dl.py)

Groups are the modules of bench/groups/, each with a function run(). When all of them run, or a folder is named, the
table and the plots are written: bench/results/network.md, or network_2_threads.md. Needs the extra `bench`.
"""

import argparse
import math
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import apart
import harness
import libraries
import peak
import tables
from harness import Group
from tqdm import tqdm

import lucid_nb as lnb

HERE = Path(__file__).resolve().parent
GROUPS = sorted(path.stem for path in (HERE / "groups").glob("*.py") if path.stem != "__init__")
WITHOUT_TORCH = ("forward",)     # the groups that need no PyTorch
HAS_TORCH = find_spec("torch") is not None
NO_TORCH = (f"PyTorch is not installed; without it: {' '.join(WITHOUT_TORCH)}. "
            "Install it, in a clone: pip install -e '.[bench]', or pip install torch.")
QUICK = ("--limit", "2", "--rounds", "3")
ONE_THREAD = (
    "Ratio: median of our time / PyTorch's, interleaved in one process; below 1 is faster. Times are medians of a call "
    "in microseconds. Further libraries take turns with ours likewise; calls above 0.2 s are timed once. NumPy is told "
    "to use one thread by OPENBLAS_NUM_THREADS, JAX by NPROC and XLA_FLAGS. MLX's CPU device cannot be told: it "
    "evaluates in one thread of its own, for which the caller waits, and its wheels for Linux have the reference BLAS, "
    "which is slow. Results are evaluated (mx.eval, block_until_ready). lucid-dl (its device `cpu`, NumPy) runs in a "
    "process of its own, in turn. Layouts are each library's own: MLX's images are channels last. "
    f"`{harness.DIFFERS}`: what it computes is not the same; `{harness.ABSENT}`: it cannot do this.")
THREADS = (
    "Ratio: median of our time / PyTorch's with {threads} threads each; below 1 is faster. Speed-up: our time with 1 "
    "thread / with {threads}. Times are medians of a call in microseconds. The sides take turns in processes of their "
    "own: PyTorch's OpenMP threads spin for some 8 ms after their work, and would take the cores from ours.")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Time what networks are made of beside PyTorch and other libraries.")
    parser.add_argument("groups", nargs="*", metavar="group", help=f"some of: {' '.join(GROUPS)} (default: all)")
    parser.add_argument("--only", action="append", metavar="GROUP", help="a group; may be given several times")
    parser.add_argument("--threads", type=int, default=1, help="threads of each side (default: 1)")
    parser.add_argument("--quick", action="store_true", help="two rows of each table, few rounds: to see that it works")
    parser.add_argument("--lucid-python", metavar="PYTHON", help="an interpreter that has lucid-dl 2.10 (1 thread)")
    parser.add_argument("--out", type=Path, help="folder of the table and plots (default: bench/results, for all)")
    args = parser.parse_args()
    args.groups += args.only or []
    unknown = set(args.groups) - set(GROUPS)
    if unknown:
        parser.error(f"unknown: {' '.join(sorted(unknown))}. Use some of {' '.join(GROUPS)}.")
    if args.threads < 1:
        parser.error(f"--threads is {args.threads}. Use 1 or more.")
    if not HAS_TORCH and set(args.groups) - set(WITHOUT_TORCH):
        parser.error(NO_TORCH)
    if args.lucid_python and args.threads > 1:
        parser.error("--lucid-python is for one thread. Leave out one of it and --threads.")
    if args.lucid_python and not lucid_version(args.lucid_python):
        parser.error(f"{args.lucid_python} has no lucid-dl. bench/lucid_dl.py says how to make an environment for it.")
    return args


def lucid_version(python: str) -> str:
    """The version of lucid-dl that an interpreter has; empty if none."""
    words = [python, "-c", "from importlib.metadata import version; print(version('lucid-dl'))"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def events(names: list[str], args: argparse.Namespace) -> Iterator[apart.Event]:
    """What the measuring processes say."""
    options = [*QUICK] if args.quick else []
    if args.threads > 1:
        return apart.in_turn(names, options, args.threads, HAS_TORCH)
    return apart.together(names, [*options, *(["--lucid-python", args.lucid_python] if args.lucid_python else [])])


def run(names: list[str], args: argparse.Namespace) -> list[Group]:
    """Run groups, printing each row, above a bar of how far it is."""
    found: dict[str, Group] = {}
    with tqdm(total=len(names), unit="group", disable=None) as bar:
        for event in events(names, args):
            if isinstance(event, str):
                bar.n = names.index(event)
                bar.set_description(event)
                continue
            title, target, row = event
            found.setdefault(title, Group(title, target)).rows.append(row)
            tqdm.write(harness.line(found[title], row), file=sys.stdout)
        bar.n = len(names)
    return list(found.values())


def notes(threads: int) -> list[str]:
    """What the table says of how it was measured, and what this machine reaches at most."""
    copies = ", ".join(f"{peak.copy_gigabytes(count, size):.1f} ({size} MB, {count} thread{'s' * (count > 1)})"
                       for count in sorted({1, threads}) for size in (4, 256))
    return [ONE_THREAD if threads == 1 else THREADS.format(threads=threads),
            f"Where the work is reading and writing, GB/s counts each operand and result once a pass. A copy of memory "
            f"reaches, in GB/s read and written: {copies}.",
            f"Multiply-adds from registers reach {peak.gigaflops():.1f} GFLOP/s of float32 on one core."]


def save(groups: list[Group], args: argparse.Namespace, folder: Path) -> None:
    """Write the table and, with matplotlib and ratios to show, the plots."""
    name = "network" if args.threads == 1 else f"network_{args.threads}_threads"
    versions = {"lucid_nb": lnb.__version__, **({"torch": version("torch")} if HAS_TORCH else {})}
    if args.threads == 1:
        versions |= libraries.versions() | ({"lucid-dl": lucid_version(args.lucid_python)} if args.lucid_python else {})
    words = ["PYTHON" if word == args.lucid_python else word for word in sys.argv[1:]]
    title = f"Networks beside PyTorch and others on the CPU, {args.threads} thread{'s' * (args.threads > 1)}"
    table = tables.text(title, groups, versions, notes(args.threads), "torch",
                        " ".join(["python bench/network.py", *words]))
    print(tables.save(table, folder / f"{name}.md"))
    if find_spec("matplotlib") and any(not math.isnan(group.mean()) for group in groups):
        import plots
        print(plots.save(groups, folder / f"{name}.png", args.threads, peak.gigaflops()))


def main() -> None:
    """Measure, print the groups' means, write the table and the plots."""
    args = parse()
    if not HAS_TORCH:
        print(NO_TORCH, file=sys.stderr)
    groups = run(args.groups or (GROUPS if HAS_TORCH else [*WITHOUT_TORCH]), args)
    print("\n".join([*tables.summary(groups), *tables.slow_rows(groups)]))
    folder = args.out or (None if args.groups or args.quick else harness.RESULTS)
    if folder:
        save(groups, args, folder)


if __name__ == "__main__":
    main()

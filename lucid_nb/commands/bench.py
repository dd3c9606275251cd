"""Side-by-side measurements on the user's machine: those of the folder bench/, which a clone has."""

import argparse
import subprocess
import sys
from pathlib import Path

from ..errors import BackendError, LucidError

HELP = """time what networks are made of beside PyTorch and other libraries; print a table, save it with plots

examples:
  lucid-nb bench
  lucid-nb bench gemm convolution
  lucid-nb bench --quick
  lucid-nb bench --threads 2 --out figures"""
SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "network.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("groups", nargs="*", metavar="group",
                        help=f"some of: {' '.join(groups()) or 'the files of bench/groups/'} (default: all)")
    parser.add_argument("--only", action="append", default=[], metavar="GROUP", help="a group; may be given again")
    parser.add_argument("--threads", type=int, default=1, help="threads of each side (default: 1)")
    parser.add_argument("--quick", action="store_true", help="two rows of each table, few rounds")
    parser.add_argument("--lucid-python", metavar="PYTHON", help="an interpreter that has lucid-dl 2.10")
    parser.add_argument("--out", default=".", help="folder of the table and the plots (default: this one)")


def groups() -> list[str]:
    """The groups that the folder has."""
    return sorted(path.stem for path in (SCRIPT.parent / "groups").glob("*.py"))


def run(args: argparse.Namespace) -> None:
    """Run the bench in a process of its own, whose rows are printed as they come."""
    if not SCRIPT.exists():
        raise BackendError(f"bench: there is no {SCRIPT}. The measurements come with a clone of the repository, "
                           "not with an installed package.")
    command = [sys.executable, str(SCRIPT), *args.groups, *args.only, "--threads", str(args.threads), "--out", args.out]
    command += [*["--quick"] * args.quick, *(["--lucid-python", args.lucid_python] if args.lucid_python else [])]
    status = subprocess.run(command, check=False).returncode
    if status:
        raise LucidError(f"bench: {SCRIPT.name} ended with status {status}. What it printed says why.")

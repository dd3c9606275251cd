"""Where compiled kernels are kept, and how to be rid of them."""

import argparse

from ..kernels import store

HELP = """show where compiled kernels are kept and how large they are, or remove them

examples:
  lucid-nb cache
  lucid-nb cache --clear
  LUCID_NB_CACHE_DIR=/tmp/kernels lucid-nb cache"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--clear", action="store_true", help="remove all stored kernels")


def run(args: argparse.Namespace) -> None:
    """Print the folder and its size, or empty it."""
    if args.clear:
        print(f"removed {plural(store.clear())} from {store.path() or 'memory: no folder is usable'}")
    else:
        print("\n".join(f"{name:8}{value}" for name, value in describe()))


def describe() -> list[tuple[str, str]]:
    """Path and size of the folder, in words."""
    folder, (count, size) = store.path(), store.size()
    if folder is None:
        return [("path", "none that this user alone can write; set LUCID_NB_CACHE_DIR")]
    return [("path", str(folder)), ("size", f"{plural(count)}, {size / 1e6:.1f} MB")]


def plural(count: int) -> str:
    """A number of kernels in words."""
    return f"{count} kernel" + "s" * (count != 1)

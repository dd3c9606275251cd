"""The command line: python -m lucid_nb (or lucid-nb) info | demo | cache."""

import argparse
import os
import sys
from collections.abc import Sequence

from .commands import cache, demo, info
from .errors import LucidError

COMMANDS = {"info": info, "demo": demo, "cache": cache}


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(
        prog="lucid-nb", description="Tensors with gradients, compiled by Numba.",
        epilog="Each command explains itself: lucid-nb demo --help")
    commands = top.add_subparsers(dest="command", required=True, metavar="info | demo | cache")
    for name, module in COMMANDS.items():
        summary, _, examples = module.HELP.partition("\n\n")
        command = commands.add_parser(name, help=summary, description=summary, epilog=examples,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status. Errors of the library are one line, without a traceback."""
    args = parser().parse_args(arguments)
    try:
        args.run(args)
        sys.stdout.flush()
    except LucidError as error:
        print(f"lucid-nb {args.command}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:                # the reader, such as head, has seen enough; nor is exit to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The command line: python -m lucid_nb (or lucid-nb) info | demo | bench | warmup | cache."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from . import __version__
from .errors import LucidError

COMMANDS = ("info", "demo", "bench", "warmup", "cache")


def parser() -> argparse.ArgumentParser:
    """The parser of all commands. Loads them, and with them the settings, whose errors are then for `main` to tell."""
    top = argparse.ArgumentParser(
        prog="lucid-nb", description="Tensors with gradients, compiled by Numba.",
        epilog="Each command explains itself: lucid-nb demo --help")
    top.add_argument("--version", action="version", version=f"lucid_nb {__version__}")
    commands = top.add_subparsers(dest="command", metavar=" | ".join(COMMANDS))
    for name in COMMANDS:
        module = importlib.import_module(f".commands.{name}", __package__)
        summary, _, examples = module.HELP.partition("\n\n")
        command = commands.add_parser(name, help=summary, description=summary, epilog=examples,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status. What goes wrong is one line, without a traceback."""
    name = "lucid-nb"
    try:
        commands = parser()
        args = commands.parse_args(arguments)
        if args.command is None:
            commands.print_help()
            return 0
        name = f"lucid-nb {args.command}"
        args.run(args)
        if sys.stdout is not None:
            sys.stdout.flush()
        return 0
    except LucidError as error:
        return failed(name, str(error).removeprefix(f"{name.split()[-1]}: "))
    except KeyboardInterrupt:
        return failed(name, "stopped by the keyboard", 130)
    except BrokenPipeError:                # the reader, such as head, has seen enough
        discard_output()
        return 0
    except OSError as error:
        discard_output()
        return failed(name, str(error))


def failed(name: str, text: str, status: int = 1) -> int:
    """Say why in one line; the exit status."""
    print(f"{name}: {text}", file=sys.stderr)
    return status


def discard_output() -> None:
    """What could not be written must not be tried again at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())

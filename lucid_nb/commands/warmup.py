"""Compile ahead of time what a program or a network will need, so that its first real run starts at once."""

import argparse
import runpy
import sys
import time
from pathlib import Path

from .. import backend, models, nn, optim
from ..creation import zeros
from ..errors import ConfigError
from ..kernels import store
from .cache import plural
from .demo import compile_kernels

HELP = """compile the kernels that a program or a network needs, ahead of time

examples:
  lucid-nb warmup train.py --epochs 1
  lucid-nb warmup --model resnet_18 --shape 8,3,224,224 --train
  lucid-nb warmup"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--model", help="a network of lucid_nb.models, instead of a program")
    parser.add_argument("--shape", default="1,3,224,224", help="of the network's input (default: 1,3,224,224)")
    parser.add_argument("--train", action="store_true", help="the network's gradients and a step of AdamW too")
    parser.add_argument("--device", default="cpu", help="where the network is: cpu, cuda, mlx (default: cpu)")
    parser.add_argument("program", nargs="?", help="a Python program, which is run; without one, the demo's network")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")


def run(args: argparse.Namespace) -> None:
    """Run what was named once, and say what was compiled."""
    if args.model is not None and args.program is not None:
        raise ConfigError(f"warmup: both a program ({args.program!r}) and a model ({args.model!r}). Name one of them.")
    before, start = store.size()[0], time.perf_counter()
    if args.program is not None:
        run_program(args.program, args.arguments)
    elif args.model is not None:
        run_model(args.model, as_sizes(args.shape), args.train, backend.resolve(args.device))
    else:
        compile_kernels(backend.resolve(args.device))
    count, where = store.size()[0] - before, store.path()
    kept = f"they are kept in {where}" if where else "nothing is kept: set LUCID_NB_CACHE_DIR to a folder"
    print(f"{plural(count)} compiled in {time.perf_counter() - start:.1f} s; {kept}" if count or not where else
          f"all kernels were there already, in {where}")


def run_program(program: str, arguments: list[str]) -> None:
    """Run a program as `python program arguments` does."""
    if not Path(program).is_file():
        raise ConfigError(f"warmup: {program!r} is no file. Name a Python program.")
    kept = sys.argv, sys.path[:]
    sys.argv, sys.path[:] = [program, *arguments], [str(Path(program).resolve().parent), *sys.path]
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    finally:
        sys.argv, sys.path[:] = kept


def as_sizes(text: str) -> tuple[int, ...]:
    """The sizes in "8,3,32,32"."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise ConfigError(f"warmup: --shape {text!r} is no row of sizes. Write it as 8,3,32,32.")
    return tuple(int(part) for part in parts)


def run_model(name: str, shape: tuple[int, ...], trains: bool, device: str) -> None:
    """Evaluate a network, and with `trains` a step of its training."""
    model = models.create_model(name).to(device)
    x = zeros(shape, dtype="float32", device=device)
    model.eval()(x)
    if trains:
        optimizer = optim.AdamW(model.train().parameters())
        scores = model(x)
        nn.functional.cross_entropy(scores, zeros(shape[:1], dtype="int64", device=device)).backward()
        optimizer.step()

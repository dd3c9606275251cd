"""What is installed and usable here."""

import argparse
import platform
from importlib import metadata

from .. import __version__, backend, config
from ..errors import BackendError
from . import cache

HELP = """show versions, devices, threads and the kernel cache

examples:
  lucid-nb info
  LUCID_NB_NUM_THREADS=1 lucid-nb info"""
PACKAGES = ("numpy", "numba", "llvmlite", "ml_dtypes", "scipy", "mlx", "numba-cuda", "matplotlib")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace) -> None:
    """Print the table."""
    rows = [("lucid_nb", __version__)]
    rows += [("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")]
    rows += [(name, version(name)) for name in PACKAGES]
    rows += [(f"device {name}", device(name)) for name in backend.FOLDERS]
    rows += [("threads", f"{config.num_threads}")]
    rows += [(f"cache {name}", value) for name, value in cache.describe()]
    width = max(len(name) for name, _ in rows) + 2
    print("\n".join(f"{name:{width}}{value}" for name, value in rows))


def version(name: str) -> str:
    """The installed version of a package, without importing it."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def device(name: str) -> str:
    """What the device is, or why it is not usable."""
    try:
        return backend.table(name).description()
    except BackendError as reason:
        return f"not usable. {reason}"

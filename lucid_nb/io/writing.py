"""Files written whole or not at all."""

import errno
import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def is_path(file: Any) -> bool:
    """Is it the name of a file, and not a file that is open?"""
    return isinstance(file, (str, os.PathLike))


def write_whole(path: Any, write: Callable[[str], Any]) -> None:
    """Let `write` make a file beside the wanted one, which then takes its place; whoever reads sees the old or the new.

    Where it fails, the old file stays as it was. A link is followed; the new file has the old one's mode.
    """
    target = Path(os.path.realpath(os.fsdecode(path)))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write into", str(target.parent))
    beside = target.with_name(f".{secrets.token_hex(8)}-{target.name}")        # its suffix says the format
    try:
        write(str(beside))
        with open(beside, "rb+") as written:
            os.fsync(written.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)

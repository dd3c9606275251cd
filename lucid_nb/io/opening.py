"""Files as memory, and one kind of error for everything that a damaged or hostile file makes go wrong."""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from ..errors import ConfigError, LucidError, out_of_memory, told


def mapped(file: BinaryIO) -> np.ndarray:
    """The bytes of an open file, loaded as they are touched; what is written stays in this process's memory."""
    if os.fstat(file.fileno()).st_size == 0:
        raise ConfigError(f"load: {named(file.name)} is empty. Save or fetch it anew.")
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)


def named(file: Any) -> str:
    """A path, or an open file, as an error names it."""
    name = getattr(file, "name", file)
    return told(os.fsdecode(name)) if isinstance(name, (str, bytes, os.PathLike)) else f"the {type(file).__name__}"


@contextmanager
def reading(path: Any, kind: str) -> Iterator[None]:
    """What goes wrong inside is the file's fault, for nothing else is read there; errors in words stay as they are."""
    try:
        yield
    except (LucidError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except MemoryError as error:
        raise out_of_memory("load", f"{named(path)}", error) from None
    except Exception as error:
        reason = " ".join(f"{type(error).__name__} {error}".split()).rstrip(". ")[:100]
        raise ConfigError(f"load: {named(path)} is no {kind}, or damaged ({reason}). Save or fetch it anew.") from None


def damaged(path: Any, reason: str) -> ConfigError:
    """The error for a file that says what cannot be."""
    return ConfigError(f"load: {named(path)} is damaged: {reason}. Save or fetch it anew.")

"""Entries of the table that a device may lack: they go through the host, where the CPU's entry does the work."""

from collections.abc import Callable
from functools import partial
from typing import Any

from .. import backend


def entry(table: backend.Table, name: str) -> Callable:
    """An entry of the table, or the CPU's with its arrays copied to the host and its results back."""
    return getattr(table, name) if table.has(name) else partial(_on_host, table, name)


def _on_host(table: backend.Table, name: str, *arguments: Any) -> Any:
    hosts = [table.to_numpy(given) if isinstance(given, table.module.RAW_TYPES) else given for given in arguments]
    found = getattr(backend.table("cpu"), name)(*hosts)
    return tuple(map(table.from_numpy, found)) if isinstance(found, tuple) else table.from_numpy(found)

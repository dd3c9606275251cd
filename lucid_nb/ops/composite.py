"""Ops that are made of a few others, and recorded as one."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..backend import Table
from ..backward import raw_runner, recording_runner
from ..op import Primitive


def composite(name: str, formula: Callable[..., Any], pullback: Callable, keeps: tuple[int, ...] = (),
              **facts: Any) -> Primitive:
    """A primitive by a formula of other ops, `formula(ops, *operands, **params)`, whose result is their last one's.

    A device may have an entry of that name. Small tensors gain a node and the checks of every part. Where each part is
    worth more by itself, in a program that is fused and in a block that counts operations, `apply` calls the parts.
    """
    def forward(table: Table, *raws: Any, **params: Any) -> Any:
        if table.has(name):
            return getattr(table, name)(*raws, **params)
        return formula(raw_runner, *raws, **params)
    found = Primitive(name, forward, pullback, keeps, **facts)
    found.parts = partial(formula, recording_runner)
    return found

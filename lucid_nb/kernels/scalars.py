"""Functions of the vocabulary as LLVM bitcode, so that a fused kernel is stated and compiled without Numba.

Each is compiled once a machine, and kept in the store. A kernel that calls one declares it, and links it in.
"""

from collections.abc import Sequence

from . import compiler, elementwise, store
from .math import NEEDS_SLOW_PATH

TYPES = {"bool": "boolean"}                          # what Numba calls a dtype, where that is another word


def name_of(op: str, dtype: str, is_exact: bool = True) -> str:
    """What implements a vocabulary entry; of two forms that which is right for every argument where `is_exact`."""
    has_forms = op in NEEDS_SLOW_PATH and dtype.startswith("float")
    return f"{op}_any_{dtype}" if has_forms and is_exact else f"{op}_{dtype}"


def bitcode(name: str, arguments: Sequence[str], result: str) -> bytes:
    """A module with the function `scalar_<name>` of numbers of these dtypes."""
    return store.keep(f"scalar {name} {tuple(arguments)} {result}", lambda: _compile(name, arguments, result))


def _compile(name: str, arguments: Sequence[str], result: str) -> bytes:
    space = dict(elementwise.toolbox())
    given = ", ".join(f"x{number}" for number in range(len(arguments)))
    exec(f"def call({given}):\n    return {name}({given})", space)
    kinds = [TYPES.get(dtype, dtype) for dtype in arguments]
    return compiler.scalar_bitcode(space["call"], kinds, TYPES.get(result, result), f"scalar_{name}")

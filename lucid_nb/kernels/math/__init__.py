"""The vocabulary on the CPU: branch-free scalar functions that LLVM vectorises. `<entry>_<dtype>` implements an entry.

One file a family. This module imports no Numba: the functions load on first use, `namespace()` gives all of them.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

FAMILIES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py")))
# For which arguments `<entry>_<dtype>` is not right, and a kernel takes `<entry>_any_<dtype>`: those of a larger size
# (circular.py), or for which this holds (division.py: a quotient of too many bits).
NEEDS_SLOW_PATH = {"sin": 1e6, "cos": 1e6, "tan": 1e5} | dict.fromkeys(
    ("fmod", "remainder", "floor_divide"), "abs({0}) > {t}(2.0 ** 22) * abs({1})")
_SUFFIXES = frozenset(f"{kind}{bits}" for kind in ("float", "int", "uint", "complex") for bits in (8, 16, 32, 64, 128))


@cache
def namespace() -> dict[str, Any]:
    """Every function `<entry>_<dtype>` by name. The first call imports Numba."""
    found: dict[str, Any] = {}
    for family in FAMILIES:
        content = vars(import_module(f".{family}", __name__))
        found |= {name: value for name, value in content.items() if name[0] != "_" and name.split("_")[-1] in _SUFFIXES}
    return found


def __getattr__(name: str) -> Any:
    if name.split("_")[-1] not in _SUFFIXES or name not in namespace():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return namespace()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *namespace()})

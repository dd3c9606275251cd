"""The page of ops, from the records: signature, meaning, dtypes, oracle, error, gradient and devices of each.

`python docs/ops_page.py` prints the tables; Sphinx puts them in the place of @OPS@ (conf.py).
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lucid_nb
from lucid_nb import op as ops
from lucid_nb import register

PACKAGE = Path(lucid_nb.__file__).parent
DEVICES = ("cpu", "cuda", "mlx")
KINDS = {"number": "numbers", "float": "floats", "ratio": "floats; integers in float64", "choice": "a condition, any",
         "integer": "integers", "double": "floats, from float64"}
HEAD = "| op | meaning | dtypes | oracle | ULP | gradient |\n|---|---|---|---|---|---|"


def chapter_of(function: Any) -> str:
    """The chapter that a function or formula stands in."""
    return (function.__module__ or "").rpartition(".")[2]


def sentence(doc: str | None) -> str:
    """The first sentence of a docstring, on one line."""
    text = " ".join((doc or "").split("\n\n")[0].split())
    return text.replace("|", "\\|")


def signature(name: str, function: Any) -> str:
    """A call of the function."""
    record = getattr(function, "record", None)
    if record is not None:
        return f"{name}({', '.join('xyz'[:record.arity])})"
    arguments = [str(p.replace(annotation=inspect.Parameter.empty)) for p in
                 inspect.signature(function).parameters.values()]
    return f"{name}({', '.join(arguments)})".replace("|", "\\|")


def record_of(name: str, function: Any) -> Any:
    """The record that tells of a function: its own, or the one of its name that it chooses its arguments for."""
    found = getattr(function, "record", None) or ops.registry.get(name)
    return found if isinstance(found, ops.Elementwise) else None


def facts_of(op: Any) -> tuple[str, str, str, str]:
    """Dtypes, oracle, largest error and gradient of an elementwise op."""
    facts, rule = op.facts, op.facts.rule
    kinds = KINDS.get(rule.kind, rule.kind) + (", bool" if rule.bools and rule.kind == "number" else "")
    kinds += ", complex" if rule.complexes else ""
    oracle = f"`{facts.oracle}`".replace("|", "\\|") if facts.oracle else ""
    error = "" if not facts.oracle else f"{facts.ulp:g}" if facts.ulp else "exact"
    return kinds, oracle, error, "yes" if is_differentiable(op) else "no"


def is_differentiable(op: Any) -> bool:
    """Has a float operand a gradient?"""
    return op.facts.rule.kind != "integer" and True in op.plan([0] * op.arity).served


def rows(chapter: str) -> Iterator[str]:
    """The lines of one chapter's table, each function once, with its other names."""
    names: dict[int, list[str]] = {}
    for name, function in register.functions.items():
        if chapter_of(function) == chapter:
            names.setdefault(id(function), []).append(name)
    for first, *others in sorted(names.values()):
        function = register.functions[first]
        op = record_of(function.__name__, function)
        cells = facts_of(op) if op else ("", "", "", "")
        also = f" Also {', '.join(f'`{other}`' for other in others)}." if others else ""
        yield f"| `{signature(first, function)}` | {sentence(function.__doc__)}{also} | {' | '.join(cells)} |"


def unsupported(device: str) -> dict[str, str]:
    """What a device lacks, and why, read off its source."""
    folder = PACKAGE / ("kernels" if device == "cpu" else device)
    for node in ast.walk(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        names, value = node.targets if isinstance(node, ast.Assign) else [node.target], node.value
        if [ast.unparse(name) for name in names] == ["UNSUPPORTED"] and isinstance(value, ast.Dict):
            return {ast.unparse(key).strip("'"): ast.unparse(why).strip("'\"")
                    for key, why in zip(value.keys, value.values) if key is not None}
    return {}


def devices() -> Iterator[str]:
    """What runs where."""
    yield "Every elementwise op runs on cpu, cuda and mlx, by its formula. Of the others these entries are missing:\n"
    for device in DEVICES:
        missing = unsupported(device)
        yield f"- **{device}**: " + ("; ".join(f"`{name}` ({why})" for name, why in missing.items()) or "none.")


def page() -> str:
    """All tables."""
    chapters = sorted({chapter_of(function) for function in register.functions.values()})
    lines = ["## Devices", "", *devices(), ""]
    for chapter in chapters:
        lines += [f"## {chapter.replace('_', ' ').capitalize()}", "", HEAD, *rows(chapter), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page())

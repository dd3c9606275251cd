"""Sphinx: `make docs`."""

import sys
from pathlib import Path
from typing import Any

from lucid_nb.register import functions

sys.path.insert(0, str(Path(__file__).parent))
import ops_page

project = "lucid_nb"
copyright = "2026, the lucid_nb authors"
extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser"]
numpydoc_show_class_members = False
autodoc_typehints = "description"
exclude_patterns = ["_build"]
html_title = "lucid_nb"
README = Path(__file__).parent.parent / "README.md"
# The front page is the README, whose links are those of the repository.
MOVED = {"](docs/guide)": "](guide/gradients.md)", "](docs/": "](", "](bench/": "](../bench/",
         "](lucid_nb/data/DIGITS.md)": "](notice.md)"}


def front_page() -> str:
    """The README with its links as they are among the pages."""
    text = README.read_text(encoding="utf-8")
    for there, here in MOVED.items():
        text = text.replace(there, here)
    return text


def function_list() -> str:
    """An entry for every published function; other names of the same function are lines below it."""
    names: dict[int, list[str]] = {}
    for name, function in functions.items():
        names.setdefault(id(function), []).append(name)
    blocks = []
    for first, *others in sorted(names.values()):
        blocks.append(f".. autofunction:: lucid_nb.{first}\n")
        if others:
            blocks.append(f"   Also: {', '.join(f'``{other}``' for other in others)}.\n")
    return "\n".join(blocks)


def fill_in(app: Any, docname: str, source: list[str]) -> None:
    """Put the generated parts in their places."""
    parts = {"@README@": front_page, "@FUNCTIONS@": function_list, "@OPS@": ops_page.page}
    for mark, make in parts.items():
        if mark in source[0]:
            source[0] = source[0].replace(mark, make())


def keep_bars(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """|x| is an absolute value in docstrings, not a substitution."""
    lines[:] = [line if ">>>" in line or "``" in line else line.replace("|", "\\|") for line in lines]


def is_numpys(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave NumPy's own objects to NumPy's documentation."""
    return True if str(getattr(thing, "__module__", "")).startswith("numpy") else None


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", keep_bars)
    app.connect("source-read", fill_in)
    app.connect("autodoc-skip-member", is_numpys)

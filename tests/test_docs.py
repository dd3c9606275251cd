"""The documentation's generated parts: complete, and well-formed."""

import importlib.util
import sys
from pathlib import Path

from lucid_nb.op import Elementwise
from lucid_nb.register import functions

DOCS = Path(__file__).resolve().parent.parent / "docs"


def load(name):
    """A module of docs/."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_page_of_ops_tells_of_every_function():
    page = load("ops_page").page()
    for function in functions.values():
        assert f"| `{function.__name__}(" in page or f"`{function.__name__}`" in page, function.__name__
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(lines) == len({id(function) for function in functions.values()})
    assert all(line.replace("\\|", "").count("|") == 7 for line in lines)


def test_page_of_ops_tells_oracle_error_and_gradient():
    page = load("ops_page").page()
    assert "| `erf(x)` | Error function, the integral" in page and "| floats | `scipy.special.erf` | 2 | yes |" in page
    assert "| `numpy.floor` | exact |" in page
    for name, function in functions.items():
        op = getattr(function, "record", None)
        if isinstance(op, Elementwise) and op.facts.oracle:
            assert op.facts.oracle.replace("|", "\\|") in page, name


def test_every_part_of_the_pages_has_its_place():
    conf = load("conf")
    for name in ("index", "ops"):
        source = [(DOCS / f"{name}.md").read_text(encoding="utf-8")]
        assert "@" in source[0]
        conf.fill_in(None, name, source)
        assert not any(mark in source[0] for mark in ("@README@", "@FUNCTIONS@", "@OPS@"))
    assert (DOCS / "activations.png").stat().st_size < 200_000

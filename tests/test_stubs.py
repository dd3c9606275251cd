"""The generated stubs: up to date, complete, and what a type checker reads in them."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import lucid_nb as lnb
from lucid_nb.register import functions

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(lnb.__file__).parent
REMEDY = "run `make stubs` (python docs/stubs.py)"


def test_stubs_are_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "docs" / "stubs.py", "--check"], capture_output=True, text=True,
                          timeout=120, cwd=ROOT, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}: {REMEDY}"


def test_stub_of_the_package_names_everything_public():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    named = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    named |= {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert functions.keys() <= named and {"Tensor", "float32", "no_grad", "nn", "optim", "set_num_threads"} <= named


def test_stub_of_tensor_names_every_method_and_operator():
    tree = ast.parse((PACKAGE / "array.pyi").read_text())
    tensor = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    named = {node.name for node in tensor.body if isinstance(node, ast.FunctionDef)}
    public = {name for name in vars(lnb.Tensor) if not name.startswith("_")} - set(lnb.Tensor.__slots__)
    assert public <= named and {"__add__", "__radd__", "__iadd__", "__matmul__", "__getitem__", "__eq__"} <= named


PROGRAM = """
import lucid_nb as lnb
x = lnb.ones((2, 3), requires_grad=True)
y = (2 * x @ x.T).sum(axis=0).exp() + lnb.sin([1.0, 2.0])
y[0].backward()
shape: tuple[int, ...] = y.shape
reveal_type(lnb.max(x, axis=-1))
reveal_type(x.relu())
reveal_type(lnb.frexp(x))
lnb.max(x, axes=0)
x.no_such_method()
"""


def test_a_type_checker_understands_a_program(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed (the extra lint brings it)")
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports",
                           "--follow-imports=silent", "--no-incremental", "program.py"], capture_output=True, text=True,
                          timeout=300, cwd=tmp_path, env={"MYPYPATH": str(ROOT)}, check=False)
    said = done.stdout.splitlines()
    assert [line for line in said if "Tensor" in line and "Revealed" in line] == [
        line for line in said if "Revealed" in line] and sum("Revealed" in line for line in said) == 3, done.stdout
    assert [line.split(": error: ")[0] for line in said if ": error: " in line] == ["program.py:10", "program.py:11"]

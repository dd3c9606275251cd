"""The rules of the house, read off the source: who may import whom, how long things are, what is documented.

The source is parsed, never imported, except where a rule is about importing.
"""

import ast
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import lucid_nb

PACKAGE = Path(lucid_nb.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
# Each may import what stands before it.
ORDER = [
    "errors", "config", "dtypes", "dlpack", "recycling", "shapes", "trees", "windows", "expr", "vocabulary",
    "flops", "program", "printing", "backend", "storage", "tape", "graph", "facts", "op", "batched", "views",
    "chains", "array", "rewrites", "apply", "lifting", "anomaly", "backward", "forward", "register", "roads",
    "remembered", "calls", "ops", "ufuncs", "explicit", "creation", "host", "interop", "array_function", "array_api",
    "fusion", "vectorize", "autograd", "random", "testing", "special", "amp", "lib", "linalg", "fft", "einops", "nn",
    "optim", "io", "data", "models", "onnx", "visual", "distributed", "commands", "__main__"]
DEVICES = ("kernels", "cuda", "mlx")
FOR_DEVICES = {"errors", "config", "dtypes", "dlpack", "recycling", "shapes", "windows", "expr", "vocabulary",
               "program", "printing"}
# The command line shows and clears the store of kernels; the package itself hands out the number of threads.
ALSO = {("commands", "kernels")}
# What is loaded when it is first needed; a module that imports one of these may be imported inside a function too.
LAZY = {"numba", "llvmlite", "scipy", "mlx", "matplotlib", "hypothesis", "cudnn", "cupy", "cupyx", "nvmath", "mpi4py",
        "einops", "onnx", "onnxruntime", "PIL"}
LINES, PLAIN, KERNEL = 400, 40, 80


def ident(path):
    """A file's name below the package."""
    return str(path.relative_to(PACKAGE))


@cache
def tree(path):
    """A file, parsed."""
    return ast.parse(path.read_text(encoding="utf-8"))


def parents(path):
    """{node: the node that holds it}."""
    return {child: node for node in ast.walk(tree(path)) for child in ast.iter_child_nodes(node)}


def is_inside(node, kind, above):
    """Is the node inside one of this kind?"""
    while node in above:
        node = above[node]
        if isinstance(node, kind):
            return True
    return False


def is_for_types(node, above):
    """Is it an import for type checkers only?"""
    while node in above:
        node = above[node]
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return True
    return False


def own_parts(path, node):
    """What a relative import brings: paths below the package, as tuples of names."""
    here = path.relative_to(PACKAGE).parts[:-1]
    base = here[:len(here) - node.level + 1] + tuple((node.module or "").split(".")) * bool(node.module)
    return [(*base, alias.name) for alias in node.names]


def own_imports(path):
    """(import node, path below the package) of every import of the package's own modules."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield from ((node, parts) for parts in own_parts(path, node))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
            assert not any(name.split(".")[0] == "lucid_nb" for name in names), f"{ident(path)}: use a relative name"


def top_of(parts):
    """The top-level module or folder of a path; names that the package itself defines belong to it."""
    return parts[0] if (PACKAGE / parts[0]).is_dir() or (PACKAGE / f"{parts[0]}.py").exists() else "__init__"


# ------------------------------------------------------------------------------------------------- arrows
@pytest.mark.parametrize("path", FILES, ids=ident)
def test_imports_point_the_way_of_the_arrows(path):
    below = path.relative_to(PACKAGE).parts
    mine = below[0].removesuffix(".py")
    if mine == "__init__":
        return                                         # the package's namespace: it may name everything
    above = parents(path)
    for node, parts in own_imports(path):
        theirs = top_of(parts)
        if theirs == mine or is_for_types(node, above) or (mine, theirs) in ALSO:
            continue
        if mine in DEVICES:
            assert theirs in FOR_DEVICES, f"line {node.lineno}: {mine} must not know {theirs}"
        elif theirs == "__init__":
            assert mine in ("commands", "__main__"), f"line {node.lineno}: imports the package's own namespace"
        else:
            assert theirs in ORDER[:ORDER.index(mine)], f"line {node.lineno}: {mine} must not know {theirs}"


def test_every_module_has_its_place_in_the_order():
    found = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in FILES} - {"__init__"}
    assert found <= {*ORDER, *DEVICES}


@cache
def loads_lazily(parts):
    """Does a module, or a folder of them, import one of LAZY at its top?"""
    place = PACKAGE.joinpath(*parts)
    files = [place.with_suffix(".py")] if place.with_suffix(".py").exists() else sorted(place.rglob("*.py"))
    for file in files:
        above = parents(file)
        for node in ast.walk(tree(file)):
            if is_inside(node, (ast.FunctionDef, ast.Lambda), above):
                continue
            if isinstance(node, (ast.Import, ast.ImportFrom)) and not getattr(node, "level", 0) and LAZY & roots(node):
                return True
            if isinstance(node, ast.ImportFrom) and node.level and file != place and any(
                    loads_lazily(part) for part in own_parts(file, node) if part[:len(parts)] != parts):
                return True
    return False


def roots(node):
    """The top-level names of an absolute import."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("path", FILES, ids=ident)
def test_imports_inside_functions_are_lazy_loads(path):
    above = parents(path)
    for node in ast.walk(tree(path)):
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or not is_inside(node, ast.FunctionDef, above):
            continue
        if getattr(node, "level", 0):
            assert all(map(loads_lazily, own_parts(path, node))), f"line {node.lineno}: import it at the top"
        else:
            assert LAZY & roots(node), f"line {node.lineno}: import it at the top"


@pytest.mark.serial
def test_importing_the_package_loads_nothing_heavy():
    heavy = ("numba", "llvmlite", "scipy", "mlx", "matplotlib", "torch", "hypothesis", "opt_einsum", "einops", "onnx",
             "lucid_nb.nn", "lucid_nb.optim", "lucid_nb.data", "lucid_nb.cuda", "lucid_nb.mlx", "lucid_nb.kernels")
    text = f"import sys, lucid_nb; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == ""


# ------------------------------------------------------------------------------------------------- lengths
def functions(path):
    """Every function of a file."""
    return [node for node in ast.walk(tree(path)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def own_length(function):
    """Lines of a function, those of functions inside it left out."""
    inner = [node for node in ast.walk(function) if isinstance(node, ast.FunctionDef) and node is not function]
    outermost = [a for a in inner if not any(a is not b and b.lineno <= a.lineno and a.end_lineno <= b.end_lineno
                                             for b in inner)]
    return sum((1 if f is function else -1) * (f.end_lineno - f.lineno + 1) for f in (function, *outermost))


@pytest.mark.parametrize("path", FILES, ids=ident)
def test_files_and_functions_are_short(path):
    limit = KERNEL if path.relative_to(PACKAGE).parts[0] in ("kernels", "cuda") else PLAIN
    assert path.read_text(encoding="utf-8").count("\n") <= LINES
    assert not {f.name: own_length(f) for f in functions(path) if own_length(f) >= limit}


# ------------------------------------------------------------------------------------------- documentation
def documented(path):
    """(name, node) of what a reader may call: public functions, classes, and their public methods."""
    nodes = [("", node) for node in tree(path).body]
    for prefix, node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef) and not is_protocol(node):
                nodes += [(f"{node.name}.", child) for child in node.body]


def is_protocol(node):
    """A protocol's methods say all by their signatures."""
    return any(ast.unparse(base).endswith("Protocol") for base in node.bases)


def is_told_elsewhere(node):
    """A derivative rule stands under its entry, a setter under its property, an overload under its function."""
    marks = [ast.unparse(mark).split("(")[0].split(".")[-1] for mark in node.decorator_list]
    return bool({"entry", "setter", "overload"} & set(marks))


def inherited(path):
    """Names of methods that a class of the same file documents for the classes that are made from it."""
    classes = {node.name: node for node in tree(path).body if isinstance(node, ast.ClassDef)}
    return {f"{name}.{method.name}" for name, node in classes.items() for base in map(ast.unparse, node.bases)
            for method in getattr(classes.get(base), "body", ())
            if isinstance(method, ast.FunctionDef) and ast.get_docstring(method)}


@pytest.mark.parametrize("path", FILES, ids=ident)
def test_everything_public_is_documented(path):
    assert ast.get_docstring(tree(path)) or not tree(path).body
    if path.parent == PACKAGE / "kernels" / "math":
        return                        # entries of the vocabulary for each dtype, told there
    told = inherited(path)
    assert not [name for name, node in documented(path)
                if not (ast.get_docstring(node) or is_told_elsewhere(node) or name in told)]


# ------------------------------------------------------------------------------- one op, one record
RECORD = '''"""A chapter with one record."""

from ..expr import Expr, Vocabulary
from ..register import unary


@unary(kind="float", oracle="1 - numpy.cos(x)", samples=((-2, 2),), ulp=4, names=("versed_sine",))
def versine(m: Vocabulary, x: Expr) -> Expr:
    """1 - cos(x), exact for small x."""
    return 2 * m.sin(0.5 * x) * m.sin(0.5 * x)
'''
SHOW = """
import sys
sys.path[:0] = [ROOT, ROOT + "/docs"]
import numpy as np
import lucid_nb as lnb
from lucid_nb.testing import check_grad
from tests.ops import oracles, test_records
x = np.array([0.5, -1.0])
assert np.allclose(lnb.versine(x).numpy(), 1 - np.cos(x), rtol=1e-14)
assert lnb.versed_sine is lnb.versine and lnb.asarray(x).versine().tolist() == lnb.versine(x).tolist()
assert lnb.versine.__doc__ == "1 - cos(x), exact for small x."
assert "versine" in test_records.RECORDS and "versine" in test_records.DIFFERENTIABLE
assert [case.values for case in oracles.cases()].count(("versine", "float32")) == 1
test_records.check_values("versine", oracles.drawn(test_records.RECORDS["versine"], "float32", 20))
check_grad(lnb.versine, x)
import stubs
assert f"def versine(x: Operand, /, {stubs.OPTIONS}) -> Tensor:" in stubs.package_text()
method = f'    def versine(self, {stubs.OPTIONS}) -> Tensor:\\n        \"\"\"1 - cos(x), exact for small x.\"\"\"'
assert method in stubs.tensor_text()
print("derived")
"""


@pytest.mark.serial
def test_a_new_elementwise_op_is_one_file(tmp_path):
    """A copy of the package with one more chapter has the function, the method, the stub and the tests."""
    def ignore(folder, names):
        return [name for name in names if name in ("__pycache__", "cuda", "mlx", "data", "nn", "optim", "commands")]
    shutil.copytree(PACKAGE, tmp_path / "lucid_nb", ignore=ignore)
    (tmp_path / "lucid_nb" / "ops" / "versine.py").write_text(RECORD)
    root = Path(__file__).resolve().parent.parent
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").write_text("")
    shutil.copytree(root / "tests" / "ops", tmp_path / "tests" / "ops", ignore=ignore)
    shutil.copytree(root / "docs", tmp_path / "docs", ignore=ignore)
    text = SHOW.replace("ROOT", repr(str(tmp_path)))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300, cwd=tmp_path,
                          check=False)
    assert done.stdout.strip() == "derived", done.stderr

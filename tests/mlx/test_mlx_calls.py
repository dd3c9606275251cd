"""Every public function, layer and optimizer on MLX: results, dtypes and gradients are the CPU's, and stay there.

Oracle: the CPU, which the other tests hold to NumPy, SciPy and PyTorch.
"""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import assert_close

from ..ops import oracles
from .running import Call, lines

table = pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
LINES = dict(lines())
TOLERANCE = {"float32": 1e-5, "float64": 1e-13, "complex64": 1e-5, "complex128": 1e-13}


def host(x):
    """A leaf as an array, or itself."""
    return x.detach().to_host() if isinstance(x, lnb.Tensor) else x


def allowed(wanted, exact):
    """How far from the CPU's a result may be, of its largest; of 16 bits twice as far as that is from float32's."""
    size = np.nanmax(np.abs(np.where(np.isfinite(wanted), wanted, 0).astype("complex128")), initial=0.0)
    if wanted.dtype.itemsize > 2:
        return float(size) * TOLERANCE[str(wanted.dtype)]
    off = np.abs(wanted.astype("float64") - np.asarray(exact, "float64"))
    return 8 * float(ml_dtypes.finfo(wanted.dtype).eps) * float(size) + 2 * float(np.nanmax(off, initial=0.0))


def same(got, wanted, exact):
    """Is one leaf of a result the CPU's, and on MLX? Asserts it."""
    if isinstance(wanted, lnb.Tensor):
        assert got.device == "mlx"
        is_default = (got.dtype, wanted.dtype) == (np.float32, np.float64)
        assert got.dtype == wanted.dtype or is_default
        got, wanted, exact = host(got), host(wanted).astype(got.dtype), host(exact)
    if not isinstance(wanted, (np.ndarray, float, complex)):
        assert got == wanted
    elif np.asarray(wanted).dtype.kind in "biu":
        np.testing.assert_array_equal(got, wanted)
    else:
        assert_close(np.asarray(got), np.asarray(wanted), rtol=0, atol=allowed(np.asarray(wanted), exact))


def compare(text, dtype):
    """Results and gradients of a call on a device, and on the CPU."""
    wanted = Call(text, "cpu", dtype).outcome()
    exact = wanted if np.dtype(dtype).itemsize > 2 else Call(text, "cpu", "float32").outcome()
    for parts in zip(Call(text, "mlx", dtype).outcome(), wanted, exact, strict=True):
        for leaves in zip(*parts, strict=True):
            same(*leaves)


def check(line, dtype):
    """All calls of a line; every one that differs is told."""
    failed = []
    for text in LINES[line]:
        try:
            compare(text, dtype)
        except Exception as error:
            failed.append(f"{text}: {type(error).__name__} {error}")
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("line", LINES)
def test_results_and_gradients_are_those_of_the_cpu(line):
    check(line, "float32")


@pytest.mark.parametrize("line", oracles.random.Random(oracles.SEED).sample(sorted(LINES), 20))
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_results_in_other_dtypes_are_those_of_the_cpu(line, dtype):
    check(line, dtype)


# ------------------------------------------------------------------------------------------------------ the host
NAMES = {name: kind for kind, row in table.HOST.items() for name in row.names.split()}
BUILT = re.compile(r"layer\(|trained\(|lnb\.zeros\(")        # layers are copied and filled when they are made


def host_names(text):
    """The names in the table of what the host does that a call has."""
    words = {name for prefix, name in re.findall(r"\b(\w+)\.(\w+)", text)} | {*re.findall(r"\b(\w+)\(", text)}
    full = {f"F.{name}" for name in re.findall(r"\bF\.(\w+)", text)}
    return {name for name in NAMES if name in words | full or (name == "[]" and ("[" in text or "__setitem__" in text))}


def reads(text, monkeypatch):
    """How often MLX is asked for values before gradients are."""
    found = []
    with monkeypatch.context() as patch:
        call, compute = Call(text, "mlx", "float32"), table.runtime.evaluate
        patch.setattr(call, "pull", lambda ends: None)
        patch.setattr(table.runtime, "evaluate", lambda raw: (found.append(raw), compute(raw))[1])
        call.outcome()
    return len(found)


@pytest.mark.parametrize("line", [line for line in LINES if line.split("-")[0] not in ("layers", "losses", "training")])
def test_only_what_the_table_says_is_read_on_the_host(line, monkeypatch):
    silent = [text for text in LINES[line] if not host_names(text) and not BUILT.search(text)]
    assert [text for text in silent if reads(text, monkeypatch)] == []


ELSEWHERE = ("random", "remainders", "values")         # not on every machine, not of every input, not of every name


def test_everything_in_the_table_is_read_on_the_host(monkeypatch):
    lazy = []
    for name in [name for name, kind in NAMES.items() if kind not in ELSEWHERE]:
        texts = [text for line in LINES.values() for text in line if name in host_names(text)]
        if not any(reads(text, monkeypatch) for text in texts):
            lazy.append(name)
    assert lazy == []


def test_the_guide_shows_the_table():
    page = (Path(__file__).parents[2] / "docs" / "guide" / "mlx.md").read_text()
    for row in table.HOST.values():
        names = " ".join(f"`{name}`" for name in row.names.split())
        assert f"| {names} | {row.what} |" in page

"""The reports of users that are about time, measured: `python bench/reports.py`.

Each row is one report of the tests' table: what is measured, the time, and what it must not exceed. Times are the
median of several turns; processes are started anew with a warm cache of kernels. Prints a table and writes
bench/results/reports.md.
"""

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

import lucid_nb as lnb

RESULTS = Path(__file__).parent / "results" / "reports.md"
ROOT = Path(__file__).resolve().parent.parent
FIRST = "import numpy as np, lucid_nb as lnb\nx = lnb.asarray(np.ones(1000, 'float32'))\nlnb.exp(x).sum().item()"


class Row(NamedTuple):
    """One report: its number, what was measured, the time and its bound in one unit."""

    report: str
    what: str
    measured: float
    bound: float
    unit: str

    @property
    def holds(self) -> bool:
        """Is the bound kept?"""
        return self.measured <= self.bound


def median(function: Callable[[], float], turns: int = 9) -> float:
    """The median of several measurements."""
    return statistics.median(function() for _ in range(turns))


def process_seconds(text: str, cache: str) -> float:
    """Wall time that a program in a fresh process says it took; Python may keep bytecode, as installed packages do."""
    wrapped = f"import time\nstart = time.perf_counter()\n{text}\nprint(time.perf_counter() - start)"
    done = subprocess.run([sys.executable, "-c", wrapped], capture_output=True, text=True, check=True, cwd=ROOT,
                          env=os.environ | {"LUCID_NB_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": ""})
    return float(done.stdout.split()[-1])


def microseconds(function: Callable[[], object], number: int = 20_000) -> float:
    """The median time of a call."""
    function()
    return median(lambda: timeit.timeit(function, number=number) / number * 1e6)


def imports() -> Iterator[Row]:
    """A6, D46: time to import; A5: time from import to the first results, with kernels kept and without.

    PyTorch's time for the same is the measure, where it is installed.
    """
    with tempfile.TemporaryDirectory() as cache:
        process_seconds(FIRST, cache)
        numpy_alone = median(lambda: process_seconds("import numpy", cache))
        ours = median(lambda: process_seconds("import lucid_nb", cache))
        warm = median(lambda: process_seconds(FIRST, cache))
    cold = median(cold_seconds, 3)
    yield Row("A6", "import lucid_nb, beyond import numpy", ours - numpy_alone, 0.10, "s")
    yield Row("D46", "import lucid_nb", ours, 0.30, "s")
    yield Row("A5", "import and first op, no kernel kept", cold, 2.0, "s")
    if find_spec("torch") is None:
        return
    peer = "import torch\nx = torch.ones(1000)\ntorch.exp(x).sum().item()"
    with tempfile.TemporaryDirectory() as cache:
        torch_seconds = median(lambda: process_seconds(peer, cache))
    yield Row("A5", f"import and first ops, kernels kept, over PyTorch's {torch_seconds:.2f} s",
              warm / torch_seconds, 0.4, "x")


def cold_seconds() -> float:
    """Import and the first op with an empty cache of kernels."""
    with tempfile.TemporaryDirectory() as cache:
        return process_seconds(FIRST.removesuffix(".sum().item()"), cache)


def small_ops() -> Iterator[Row]:
    """D47: an addition of 8 floats."""
    x, y = lnb.ones(8, dtype="float32"), lnb.ones(8, dtype="float32")
    yield Row("D47", "add of 8 floats", microseconds(lambda: x + y), 3.0, "us")
    y.requires_grad = True
    yield Row("D47", "add of 8 floats, recorded", microseconds(lambda: x + y), 3.0, "us")


def literals() -> Iterator[Row]:
    """A14: a literal costs no more than a typed constant."""
    x = lnb.asarray(np.ones(20_000, "float32"))
    half = lnb.asarray(np.full(20_000, 0.5, "float32"))
    literal, typed = microseconds(lambda: x * 0.5, 2000), microseconds(lambda: x * half, 2000)
    yield Row("A14", "20,000 floats times a literal, over times a tensor", literal / typed, 1.1, "x")


def uneven_rows() -> Iterator[Row]:
    """A9: rows of uneven cost end together."""
    before = lnb.get_num_threads()
    values = np.full((2048, 2048), 0.5, "float32")
    values[1024:] = 1e9                                  # sin of large numbers takes the long road
    x = lnb.asarray(values)
    times = []
    for threads in (1, 2):
        lnb.set_num_threads(threads)
        lnb.sin(x)
        times.append(median(lambda: timeit.timeit(lambda: lnb.sin(x), number=1), 5))
    lnb.set_num_threads(before)
    yield Row("A9", "uneven rows on 2 threads, over half of the time on 1", times[1] / (times[0] / 2), 1.3, "x")


def table(rows: list[Row]) -> str:
    """The report as text."""
    lines = ["| report | measured | | at most | |", "|---|---|---|---|---|"]
    lines += [f"| {row.report} | {row.what} | {row.measured:.3g} {row.unit} | {row.bound:g} {row.unit} | "
              f"{'kept' if row.holds else 'NOT kept'} |" for row in rows]
    made = (f"`python bench/reports.py`, {time.strftime('%Y-%m-%d')}, {platform.machine()}, {os.cpu_count()} CPUs, "
            f"Python {platform.python_version()}, numpy {np.__version__}.")
    return "\n".join(["# Reports about time", "", made, "", *lines, ""])


def main() -> int:
    """Measure, print, write; fails where a bound is not kept."""
    rows = [row for measure in (imports, small_ops, literals, uneven_rows) for row in measure()]
    text = table(rows)
    print(text)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text, encoding="utf-8")
    return int(not all(row.holds for row in rows))


if __name__ == "__main__":
    sys.exit(main())

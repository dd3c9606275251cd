"""The names of NumPy beside NumPy, one thread each: calls on 10, 1e5 and 1e6 elements, and the programs of NPBench.

    OMP_NUM_THREADS=1 python bench/drop_in.py [--npbench FOLDER] [--only WORD]

FOLDER is a checkout of NPBench, whose programs run unchanged at its preset S, with `lucid_nb` in the place of NumPy.
Results are compared before anything is timed. Writes bench/results/drop_in.md unless --only chooses groups.
"""

import argparse
import cProfile
import json
import math
import os
import platform
import pstats
import re
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import harness
import numpy as np
from harness import Group, compare
from tables import markdown, number, processor

import lucid_nb as lnb

SIZES = (10, 10 ** 5, 10 ** 6)
HIGH, SLOW = 3.0, 2.0                        # ratios from which calls and programs are listed
TURNS = 5                                    # of a program
draw = np.random.default_rng(0)

# One expression a row, of vectors v and w, a mask m, integers k, a matrix A and places p among as many elements.
CALLS = {
    "elementwise": """v + w; v * 2.0; 2.0 * v + w; v - w; v / w; v ** 2; -v; abs(v); np.sqrt(v); np.exp(v); np.log(v);
        np.sin(v); np.tanh(v); np.square(v); np.maximum(v, w); np.minimum(v, 0.5); np.clip(v, 0.2, 0.7); v < w; v == w;
        m & m; np.logical_not(m); np.isnan(v); np.where(m, v, w); k + k; k // 3; k % 7; np.add(v, w, out=u);
        np.floor(v); np.power(v, w); np.arctan2(v, w)""",
    "reduction": """np.sum(v); np.sum(A, axis=0); np.sum(A, axis=1); np.mean(v); np.mean(A, axis=0); np.max(v);
        np.min(A, axis=1); np.std(v); np.prod(v); np.any(m); np.all(m); np.argmax(v); np.cumsum(v); np.sum(k);
        np.count_nonzero(m); np.linalg.norm(v); np.dot(v, w)""",
    "indexing": """v[1:-1]; v[::2]; A[:, 1]; A[1]; v[m]; v[p]; np.take(v, p); A.T; A.reshape(-1);
        np.concatenate((v, w)); np.stack((v, w)); np.flip(v); np.roll(v, 1); np.repeat(v, 3); np.tile(v, 3); np.sort(v);
        np.nonzero(m); np.diff(v); np.expand_dims(v, 0); np.transpose(A); np.ravel(A)""",
    "creation": """np.zeros(n); np.ones(n); np.full(n, 2.0); np.arange(n); np.linspace(0, 1, n); np.zeros_like(v);
        np.ones_like(v); np.copy(v); v.copy(); np.array(v); v.astype(np.float32); np.empty_like(v).size"""}
FEW = "v[3]; A[1, 1]; k[3]"                  # elements, at most three times NumPy's time
ADDED = """np.linalg.solve(B, b); np.linalg.inv(B); np.linalg.det(B); np.linalg.qr(B); np.linalg.svd(B);
    np.linalg.eigh(S); np.linalg.cholesky(S); np.linalg.norm(B); np.fft.fft(b); np.fft.rfft(b); np.fft.ifft(b);
    np.fft.fft2(B)"""


def expressions(text: str) -> list[str]:
    """The calls of a group."""
    return [" ".join(part.split()) for part in text.split(";")]


def arrays(count: int) -> dict[str, np.ndarray]:
    """What the expressions name."""
    square, part = draw.random((16, 16)), draw.random(count)
    return {"v": part + 0.01, "w": draw.random(count) + 0.01, "u": np.empty(count), "m": part > 0.5,
            "k": draw.integers(1, 99, count), "p": draw.integers(0, count, count),
            "A": draw.random((max(2, count // 1000), min(1000, count // 2))),
            "B": square, "S": square @ square.T + np.eye(16), "b": draw.random(16)}


def pairs(text: str, count: int) -> Iterator[tuple[str, Callable, Callable]]:
    """Each expression with both libraries, after their results were compared."""
    given = arrays(count)
    ours = {name: lnb.asarray(array.copy()) for name, array in given.items()}
    for expression in expressions(text):
        mine, peer = [eval(f"lambda: {expression}", {**names, "np": module, "n": count})
                      for names, module in ((ours, lnb), (given, np))]
        check(expression, mine(), peer())
        yield expression, mine, peer


def check(label: str, ours: Any, peer: Any) -> None:
    """Stop where the two differ in shape, dtype or values; factors of matrices only up to signs."""
    for mine, theirs in zip(flat(ours), flat(peer), strict=True):
        mine, theirs = np.asarray(mine), np.asarray(theirs)
        if (mine.shape, mine.dtype) != (theirs.shape, theirs.dtype):
            raise AssertionError(f"{label}: {mine.shape} {mine.dtype} for {theirs.shape} {theirs.dtype}")
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8, err_msg=label)


def flat(found: Any) -> list[Any]:
    """The arrays of a result, one after the other."""
    if found is None:
        return []
    return [part for each in found for part in flat(each)] if isinstance(found, (tuple, list)) else [found]


def calls(title: str, count: int) -> Group:
    """A group of calls on so many elements."""
    group = Group(f"{title}, {count} elements", "2.5" if count < 1000 else "0.8")
    for label, mine, peer in pairs(CALLS[title], count):
        compare(group, label, mine, peer, rtol=None, seconds=0.004, rounds=9)
    return group


def others() -> list[Group]:
    """Elements one by one, and what calls of linear algebra and Fourier transforms add to NumPy's time."""
    found = []
    for title, target, text in (("one element", "3.0", FEW), ("added to LAPACK and FFT", "5 us more", ADDED)):
        found.append(Group(title, target))
        for label, mine, peer in pairs(text, 20):
            compare(found[-1], label, mine, peer, rtol=None, seconds=0.004, rounds=9)
    return found


# ----------------------------------------------------------------------------------------------- NPBench
class Program:
    """A program of NPBench with its data, for NumPy and for us."""

    def __init__(self, folder: Path, info: dict[str, Any]) -> None:
        self.name, self.info = info["short_name"], info
        self.folder = folder / "npbench" / "benchmarks" / info["relative_path"]
        self.data = dict(info["parameters"]["S"])
        if "init" in info:
            names: dict[str, Any] = {}
            exec((self.folder / f"{info['module_name']}.py").read_text(), names)
            np.random.seed(0)
            init = info["init"]
            made = names[init["func_name"]](*[self.data[name] for name in init["input_args"]])
            outputs = init["output_args"]
            self.data.update(zip(outputs, made if len(outputs) > 1 else [made]))

    def function(self, module: str) -> Callable:
        """Its function, with a library in the place of NumPy."""
        text = (self.folder / f"{self.info['module_name']}_numpy.py").read_text()
        names: dict[str, Any] = {}
        exec(re.sub(r"^import numpy\b(?! as)", f"import {module} as numpy",
                    re.sub(r"^import numpy as", f"import {module} as", text, flags=re.M), flags=re.M), names)
        found: Callable = names[self.info["func_name"]]
        return found

    def run(self, function: Callable, own: Callable) -> tuple[float, list[Any]]:
        """Seconds of a run on copies of the data, and what it gives."""
        given = {name: own(self.data[name].copy()) if isinstance(self.data[name], np.ndarray) else self.data[name]
                 for name in self.info["input_args"]}
        start = time.perf_counter()
        found = function(*[given[name] for name in self.info["input_args"]])
        seconds = time.perf_counter() - start
        return seconds, [np.asarray(x) for x in flat(found) + [given[name] for name in self.info["output_args"]]]


def is_near(ours: list[np.ndarray], peer: list[np.ndarray], tolerance: float) -> bool:
    """Do all results agree, in the norm of NPBench?"""
    for mine, theirs in zip(ours, peer, strict=True):
        size = float(np.linalg.norm(theirs.ravel()))
        if mine.shape != theirs.shape or not np.linalg.norm((mine - theirs).ravel()) <= tolerance * max(size, 1e-30):
            finite = np.isfinite(mine) == np.isfinite(theirs)
            if np.isfinite(size) or not finite.all():
                return False
    return True


def profile(program: Program, function: Callable) -> str:
    """Where a run's time goes: the files of ours that take most of it."""
    profiler = cProfile.Profile()
    profiler.runcall(program.run, function, lnb.asarray)
    spent: Counter[str] = Counter()
    for (path, _, _), (_, _, own, _, _) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        spent[Path(path).stem if "lucid_nb" in path else "other code"] += own
    total = sum(spent.values())
    return ", ".join([f"{name} {own / total:.0%}" for name, own in spent.most_common(4)])


def programs(folder: Path) -> tuple[Group, dict[str, str]]:
    """All programs of a checkout, and the profiles of those that are slow."""
    group, profiles = Group("NPBench, preset S", "1.0"), {}
    for path in sorted((folder / "bench_info").glob("*.json")):
        program = Program(folder, json.loads(path.read_text())["benchmark"])
        mine, theirs = program.function("lucid_nb"), program.function("numpy")
        tolerance = program.info.get("norm_error", program.info.get("rtol", 1e-4))
        (_, found), (_, wanted) = program.run(mine, lnb.asarray), program.run(theirs, np.asarray)
        if not is_near(found, wanted, tolerance):
            raise AssertionError(f"{path.stem}: another result than NumPy's")
        row = harness.Row(path.stem)
        times = [(program.run(mine, lnb.asarray)[0], program.run(theirs, np.asarray)[0]) for _ in range(TURNS)]
        row.ours, row.peer = [statistics.median(column) * 1e6 for column in zip(*times)]
        row.ratio = statistics.median(a / b for a, b in times)
        group.rows.append(row)
        harness.show(group, row)
        if row.ratio > SLOW:
            profiles[row.label] = profile(program, mine)
    return group, profiles


# ----------------------------------------------------------------------------------------------- the report
def report(groups: list[Group], profiles: dict[str, str]) -> str:
    """The file's text."""
    lines = ["# A NumPy program with lucid_nb in NumPy's place", "",
             f"`OMP_NUM_THREADS=1 python bench/drop_in.py --npbench FOLDER`, {time.strftime('%Y-%m-%d')}, "
             f"{processor()}, Python {platform.python_version()}, numpy {np.__version__}. One thread each, in turns, "
             "medians, results checked equal; ratios are our time / NumPy's."]
    lines += markdown(("group", "rows", "geometric mean", "worst", "target"),
                      [(group.title, str(len(group.rows)), number(group.mean()),
                        number(max(row.ratio for row in group.rows)), group.target) for group in groups])
    for group in groups:
        is_program = group.title.startswith("NPBench")
        whole = is_program or group.title in ("one element", "added to LAPACK and FFT")
        rows = sorted([row for row in group.rows if whole or row.ratio > HIGH], key=lambda row: -row.ratio)
        if rows:
            lines += ["", f"## {group.title}" + ("" if whole else f": above {HIGH:g}")]
            lines += markdown(("", "ratio", "ours, us", "NumPy, us", "more, us", *["own time in"] * is_program),
                              [(f"`{row.label}`", number(row.ratio), number(row.ours), number(row.peer),
                                number(row.ours - row.peer), *[profiles.get(row.label, "")] * is_program)
                               for row in rows])
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--npbench", type=Path, help="a checkout of NPBench")
    parser.add_argument("--only", default="", help="groups whose title holds this word; nothing is written")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    lnb.set_num_threads(1)
    if os.environ.get("OMP_NUM_THREADS") != "1":
        raise SystemExit("drop_in: NumPy's products would take several threads. Set OMP_NUM_THREADS=1.")
    groups, profiles = [], {}
    for count in SIZES:
        groups += [calls(title, count) for title in CALLS if arguments.only in title]
    groups += [] if arguments.only else others()
    if arguments.npbench:
        group, profiles = programs(arguments.npbench)
        groups.append(group)
    text = report([group for group in groups if not math.isnan(group.mean())], profiles)
    print(text)
    if not arguments.only:
        (harness.RESULTS / "drop_in.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""lucid-dl 2.10 beside us: it needs Python 3.12 and an environment of its own, so that this file is both sides.

Run by that environment's interpreter it answers on its standard input and output: a line of JSON tells the work and
where its arrays are, the answer tells the time of a call and where the result is. `Child` is our side of that.

    python3.12 -m venv lucid && lucid/bin/pip install lucid-dl==2.10.0 'mlx[cpu]'
    python bench/network.py --lucid-python lucid/bin/python
"""

import __future__

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import work as works
from work import Work

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}           # of its NumPy, read when that is imported
BUDGET = 0.4                     # seconds for the time of a row, beside the first call


class Annotated(SourceFileLoader):
    """A module whose annotations are not evaluated: lucid.types of 2.10 names a class in that class's own body."""

    def get_code(self, fullname: str) -> Any:
        """Compiled here, past the cache of bytecode."""
        return compile(self.get_data(self.path), self.path, "exec", __future__.annotations.compiler_flag, True)


class Finder:
    """Has lucid.types loaded by `Annotated`."""

    @staticmethod
    def find_spec(name: str, path: Any, target: Any = None) -> Any:
        """Only that one module's."""
        if name != "lucid.types":
            return None
        place = str(Path(path[0]) / "types.py")
        return spec_from_file_location(name, place, loader=Annotated(name, place))


class Child:
    """The process that times lucid-dl, one thread; use it in a with statement."""

    name = "lucid-dl"

    def __init__(self, python: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([python, __file__, self.folder.name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()

    def measure(self, work: Work) -> tuple[float, np.ndarray]:
        """Seconds of a call, and the result; ValueError with what lucid-dl said where it cannot do this."""
        arrays = {f"a{number}": array for number, array in enumerate(work.arrays)}
        if work.seed is not None:
            arrays["seed"] = work.seed
        np.savez(Path(self.folder.name) / "given.npz", **arrays)
        self.process.stdin.write(json.dumps({"op": work.op, "options": work.options}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "the process ended"}')
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["seconds"], np.load(Path(self.folder.name) / "found.npy")


def main(folder: Path) -> None:
    """Answer until there are no more questions."""
    answers, sys.stdout = sys.stdout, sys.stderr
    sys.meta_path.insert(0, Finder)
    for line in sys.stdin:
        try:
            with np.load(folder / "given.npz") as given:
                arrays = [given[name] for name in given if name != "seed"]
                work = Work(**json.loads(line), arrays=arrays, seed=given.get("seed"))
            call = step(work)
            np.save(folder / "found.npy", call())
            answer: dict[str, Any] = {"seconds": seconds(call)}
        except Exception as error:               # whatever it is, that is what it could not do
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def step(work: Work) -> Callable[[], np.ndarray]:
    """The work's call: its result, or the gradient of the first operand."""
    import lucid
    import lucid.nn.functional as functional
    work.options = {key: tuple(value) if isinstance(value, list) else value for key, value in work.options.items()}
    if work.op == "softmax":
        work.options["axis"] = work.options.pop("dim")
    call = works.function(functional, work)
    leaves = [lucid.tensor(x, requires_grad=work.seed is not None, dtype=lucid.Float32) for x in work.arrays]
    if work.seed is None:
        def forward() -> np.ndarray:
            with lucid.no_grad():
                return call(*leaves).data
        return forward

    def both() -> np.ndarray:
        for leaf in leaves:
            leaf.grad = None
        result = call(*leaves)
        result.grad = work.seed
        result.backward()
        return leaves[0].grad
    return both


def seconds(call: Callable[[], object]) -> float:
    """The median time of a call; of slow ones a single time."""
    once = max(timeit.timeit(call, number=1), 1e-7)
    number = max(1, int(0.01 / once))
    rounds = min(9, int(BUDGET / (once * number)))
    return statistics.median([timeit.timeit(call, number=number) / number for _ in range(rounds)] or [once])


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(Path(sys.argv[1]))

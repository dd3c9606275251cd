"""Registers, spills and occupancy of every CUDA kernel, for three generations of GPUs, without a GPU.

    python bench/cuda_registers.py                    # all: minutes; writes bench/results/cuda_registers.md
    python bench/cuda_registers.py --family gemm      # prints one family

A run that was interrupted goes on where it stopped, as long as the sources are the same.
Kernels are compiled for the launches of tests/cuda/launches. It fails where a kernel spills, uses memory of its own or
holds half the blocks because of its registers, and no reason is listed; and where a listed reason is needed no more.
"""

import argparse
import datetime
import hashlib
import json
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.cuda.compiling import CAPABILITIES  # noqa: E402
from tests.cuda.conftest import why_not_compiling  # noqa: E402
from tests.cuda.launches import Case, cases  # noqa: E402
from tests.cuda.occupancy import occupancy  # noqa: E402
from tests.cuda.streams import Stream, stream  # noqa: E402

RESULT = ROOT / "bench" / "results" / "cuda_registers.md"
DONE = ROOT / "build" / "cuda_registers.jsonl"
NEIGHBOURS = 6                     # launches that a process takes at a time


class Card(NamedTuple):
    """What NVIDIA publishes of a card: bytes and operations a second."""

    name: str
    bandwidth: float
    single: float
    double: float

    def microseconds(self, nbytes: float, operations: float, dtype: str) -> float:
        """The roofline: the longer of moving everything once and computing all of it."""
        peak = self.double if dtype in ("float64", "complex128") else self.single
        return 1e6 * max(nbytes / self.bandwidth, operations / peak)


# Data sheets of the H100 SXM and of the H200 SXM; without tensor cores, which these kernels do not use.
CARDS = (Card("H100", 3.35e12, 67e12, 34e12), Card("H200", 4.8e12, 67e12, 34e12))


class Row(NamedTuple):
    """One kernel of a case: for every capability, registers, spilled bytes, stack, shared memory and occupancy."""

    case: str
    family: str
    kernel: str
    codes: tuple[tuple[int, int, int, int, float], ...]
    stream: Stream | None
    times: tuple[float, ...]
    complaints: tuple[tuple[str, str], ...]


def measured(case: Case) -> list[Row]:
    """A row for every kernel of a case."""
    rows, itemsize = [], 2 if case.dtype == "bfloat16" else np.dtype(case.dtype).itemsize
    for launch in case.launches():
        codes = [launch.compile(capability) for capability in CAPABILITIES]
        found = stream(codes[-1].ptx, itemsize) if case.is_stream else None
        operations = case.flops(case.dtype)
        if found is not None and not operations:
            operations = found.flops * launch.nbytes / (found.loaded + found.stored)
        complaints = [(f"sm_{a}{b}: {text}", reason) for a, b in CAPABILITIES
                      for text, reason in case.complaints(launch, (a, b))]
        rows.append(Row(str(case), case.family, codes[0].name, tuple(
            (code.registers, code.spilled, code.stack, code.shared,
             occupancy(capability, launch.threads, code.shared, code.registers))
            for capability, code in zip(CAPABILITIES, codes)), found, tuple(
            card.microseconds(launch.nbytes, operations, case.dtype) for card in CARDS), tuple(complaints)))
    return rows


def work(number: int) -> list[Row]:
    """The rows of a case, in a process that knows the same cases."""
    return measured(cases()[number])


# -------------------------------------------------------------------------------------------------------- done
def sources() -> str:
    """What the kernels and their compilation are made of, as a digest."""
    found = hashlib.sha256(version("numba-cuda").encode() + version("nvidia-nvvm").encode())
    words = ("dtypes", "shapes", "expr", "vocabulary", "program", "printing")
    own = [ROOT / "lucid_nb" / f"{word}.py" for word in words]
    for path in sorted([*own, *ROOT.glob("lucid_nb/cuda/*.py"), *ROOT.glob("lucid_nb/ops/*.py"),
                        *ROOT.glob("tests/cuda/*.py"), *ROOT.glob("tests/cuda/launches/*.py"), Path(__file__)]):
        found.update(path.read_bytes())
    return found.hexdigest()


def done_before(digest: str) -> dict[str, list[Row]]:
    """The rows of cases that an interrupted run of the same sources has left."""
    lines = map(json.loads, DONE.read_text(encoding="utf-8").splitlines()) if DONE.exists() else ()
    return {line["case"]: [restored(*row) for row in line["rows"]] for line in lines if line["sources"] == digest}


def restored(case: str, family: str, kernel: str, codes: Any, stream: Any, times: Any, complaints: Any) -> Row:
    """A row, of what JSON keeps of it."""
    return Row(case, family, kernel, tuple(map(tuple, codes)), stream and Stream(*stream), tuple(times),
               tuple(map(tuple, complaints)))


def compiled(chosen: dict[int, str], jobs: int) -> list[Row]:
    """The rows of cases by number and name, each written down when it is there."""
    digest = sources()
    found = done_before(digest)
    todo = [number for number, name in chosen.items() if name not in found]
    DONE.parent.mkdir(exist_ok=True)
    with DONE.open("a", encoding="utf-8") as file, multiprocessing.get_context("spawn").Pool(jobs) as pool:
        # Neighbours share kernels, which a process compiles once.
        for number, rows in zip(todo, pool.imap(work, todo, chunksize=NEIGHBOURS)):
            found[chosen[number]] = rows
            print(json.dumps({"sources": digest, "case": chosen[number], "rows": rows}), file=file, flush=True)
            print(f"\r{len(found)} of {len(chosen)} launches", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return [row for name in chosen.values() for row in found[name]]


# ------------------------------------------------------------------------------------------------------ tables
def same(values: Sequence[Any]) -> str:
    """One value if all are the same, else all of them."""
    texts = [str(value) for value in values]
    return texts[0] if len({*texts}) == 1 else " / ".join(texts)


def cells(row: Row) -> list[str]:
    """The line of a kernel."""
    name, registers, spilled, stack, shared, held = row.case.partition("-")[2], *zip(*row.codes)
    percent = same([f"{100 * part:.0f}" for part in held])
    counted = [""] * 4 if row.stream is None else [
        f"{value:.4g}" for value in (row.stream.loads, row.stream.stores, row.stream.flops)] + [str(row.stream.widest)]
    return [name, row.kernel, same(registers), same(spilled), same(stack), same(shared), percent, *counted,
            *(f"{time:.1f}" for time in row.times)]


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of a family."""
    head = ["launch and dtype", "kernel", "registers", "spilled", "stack", "shared", "occupancy %", "loads", "stores",
            "flops", "widest", *(f"{card.name} us" for card in CARDS)]
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(cells(row))} |"


def reasons(rows: Sequence[Row]) -> Iterator[str]:
    """What was let pass, and why."""
    for reason in dict.fromkeys(reason for row in rows for _, reason in row.complaints if reason):
        concerned = dict.fromkeys(row.case.partition("-")[2] for row in rows
                                  if any(own == reason for _, own in row.complaints))
        yield f"- {reason[0].upper()}{reason[1:]}: {', '.join(concerned)}."


def page(rows: Sequence[Row]) -> str:
    """The page of all families."""
    names = ", ".join("sm_{}{}".format(*capability) for capability in CAPABILITIES)
    rates = "; ".join(f"{card.name} SXM {card.bandwidth / 1e12:g} TB/s, {card.single / 1e12:g} TFLOP/s in float32 and "
                      f"{card.double / 1e12:g} in float64" for card in CARDS)
    lines = ["# CUDA kernels: registers, spills, occupancy", "",
             f"Written by bench/cuda_registers.py on {datetime.date.today()} with numba-cuda {version('numba-cuda')} "
             f"and nvidia-nvvm {version('nvidia-nvvm')}, without a GPU.", "",
             f"Registers, bytes spilled, stack and shared memory are the linker's, for {names}; one number where all "
             "agree. Occupancy is arithmetic on NVIDIA's published limits, for the block of the launch. Loads, stores "
             "(instructions) and floating-point operations for each element stored, and the bytes of the widest "
             "access, are counted in the PTX of the main loop of streaming kernels; where a loop has branches, all of "
             "them count. The last columns are rooflines: everything "
             f"that a launch is given moves once, or all of it is computed, whichever takes longer ({rates}).", ""]
    for family in dict.fromkeys(row.family for row in rows):
        own = [row for row in rows if row.family == family]
        lines += [f"## {family}", "", *table(own), ""]
        listed = list(reasons(own))
        lines += ["Reasons:", "", *listed, ""] if listed else []
    return "\n".join(lines)


def unneeded(chosen: Sequence[Case], rows: Sequence[Row]) -> Iterator[str]:
    """Reasons that no kernel of any dtype needs."""
    used = {reason for row in rows for _, reason in row.complaints}
    for reason in dict.fromkeys(reason for case in chosen for reason in (case.registers, case.stack) if reason):
        if reason not in used:
            yield f"listed and not needed: {reason}"


def main() -> int:
    """Compile, write, and say what failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", help="only this one, printed")
    parser.add_argument("--jobs", type=int, default=2, help="processes that compile")
    chosen = parser.parse_args()
    if reason := why_not_compiling():
        sys.exit(f"cuda_registers: {reason}")
    numbers = {number: str(case) for number, case in enumerate(cases()) if chosen.family in (None, case.family)}
    rows = compiled(numbers, chosen.jobs)
    text = page(rows)
    print(text) if chosen.family else RESULT.write_text(text)
    failures = [f"{row.case} {row.kernel}: {text}" for row in rows for text, reason in row.complaints if not reason]
    failures += unneeded([cases()[number] for number in numbers], rows)
    print(*failures, f"{len(rows)} kernels, {len(failures)} failures", sep="\n", file=sys.stderr)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())

"""lucid_nb on an NVIDIA GPU: its tests there, then its times beside PyTorch's on the same card.

    python bench/gpu.py               tests, times, bench/results/cuda.md and cuda.png; needs a GPU, at most 8 minutes
    python bench/gpu.py --dry-run     every row, small and on the host, no tests; the table goes to the folder build
    python bench/gpu.py --skip-tests  times alone

Rows are measured in processes of their own: what stops the GPU costs one row, and the table says which. Where NVIDIA's
libraries are installed, a row is timed as it is and by our own kernels. Without PyTorch for CUDA our own times are
taken alone. TF32 is off on both sides.
"""

import argparse
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gpu_cases
import harness
import numpy as np
import tables
from gpu_cases import TARGETS, Case, Where
from harness import Group, Row

import lucid_nb as lnb
from lucid_nb import config
from lucid_nb.backend import table

SCRIPT = Path(__file__).resolve()
ROOT = SCRIPT.parents[1]
SECONDS, FOR_TESTS = 465, 180              # of everything, and of that for the tests
STOPPED = 3                                # exit of a process whose GPU answers no longer
OWN = "own kernels"


# ------------------------------------------------------------------------------------------- a process of its own
def torch_here() -> Any:
    """PyTorch, where it can use the device."""
    if not find_spec("torch"):
        return None
    import torch
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    if Where.device == "cpu":
        torch.set_num_threads(1)
        return torch
    return torch if torch.cuda.is_available() else None


def host(found: Any) -> np.ndarray:
    """A result of either library as NumPy's."""
    found = found[0] if isinstance(found, tuple) else found
    return found.detach().to("cpu").astype("float32").numpy() if isinstance(found, lnb.Tensor) else \
        found.detach().float().cpu().numpy()


def burst(call: Callable, count: int, wait: Callable[[], Any]) -> Callable[[], None]:
    """So many calls, and the wait until the device has done them."""
    def run() -> None:
        for _ in range(count):
            call()
        wait()
    return run


def with_own_kernels(call: Callable) -> Callable:
    """The call without NVIDIA's libraries."""
    def run() -> Any:
        before, config.cuda_libraries = config.cuda_libraries, False
        try:
            return call()
        finally:
            config.cuda_libraries = before
    return run


def measured(case: Case, torch: Any) -> Row:
    """A row; AssertionError where the libraries do not agree."""
    ours, peer = case.make(lnb), case.make(torch) if torch else None
    own = with_own_kernels(case.make(lnb)) if case.is_by_library else None
    expected = host(peer()) if peer else host(own()) if own else host(ours())
    for call in (ours, own):
        if call and not harness.is_equal(host(call()), expected, case.rtol):
            raise AssertionError(f"{'our own kernels differ' if call is own else 'we differ'} from what was expected "
                                 f"by more than {case.rtol}")
    ready, theirs = (lambda: None, lambda: None) if Where.device == "cpu" else (
        table("cuda").synchronize, torch.cuda.synchronize if torch else lambda: None)
    group = Group(case.group, "")
    calls = burst(ours, case.count, ready), burst(peer, case.count, theirs) if peer else None
    harness.compare(group, case.label, *calls, rtol=None, rounds=9, seconds=0.02, flops=case.flops * case.count,
                    moved=case.moved * case.count, others={OWN: burst(own, case.count, ready)} if own else {})
    return group.rows[0]


def tell(**record: Any) -> None:
    """A line for the process above."""
    print(json.dumps(record), flush=True)


def run_chapter(name: str, done: list[str]) -> None:
    """Measure the rows of a chapter but those that were tried."""
    harness.settings.show = lambda group, row: None
    refusals = logging.StreamHandler(sys.stdout)
    refusals.emit = lambda record: tell(refused=record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("lucid_nb.cuda").setLevel(logging.DEBUG)
    logging.getLogger("lucid_nb.cuda").addHandler(refusals)
    torch = torch_here()
    tell(torch=torch.__version__ if torch else "none")
    for case in gpu_cases.cases():
        if case.chapter != name or case.name in done:
            continue
        tell(begun=case.name)
        try:
            row = measured(case, torch)
            tell(row={key: value for key, value in vars(row).items() if key != "single"}, group=case.group)
        except Exception as error:                                  # whatever goes wrong belongs into the table
            tell(failed=case.name, reason=f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
            check_device()


def check_device() -> None:
    """Leave where the GPU answers no longer: what stopped it stops all that comes after, too."""
    try:
        if float((lnb.ones(2, device=Where.device) + 1).sum()) == 4:
            return
    except Exception as error:
        print(error, file=sys.stderr)
    sys.stdout.flush()
    os._exit(STOPPED)


# ------------------------------------------------------------------------------------------------------ the script
class Report:
    """What the processes say."""

    def __init__(self, deadline: float, flags: list[str]) -> None:
        self.deadline, self.flags = deadline, flags
        self.groups = {name: Group(name, target) for name, target in TARGETS.items()}
        self.begun: list[str] = []
        self.ended: set[str] = set()
        self.troubles: list[str] = []
        self.refusals: dict[str, None] = {}
        self.torch = "none"

    def fill(self, chapter: str) -> None:
        """Start processes until every row of a chapter was tried."""
        while True:
            before = len(self.begun)
            code = self.child(chapter)
            if code == 0:
                return
            lost = [name for name in self.begun[before:] if name not in self.ended]
            what = "was stopped when the time was over" if code is None else f"ended with {code}"
            if lost or code != STOPPED:
                self.troubles.append(f"{lost[-1] if lost else chapter}: the process {what}")
            if code is None or len(self.begun) == before:
                return

    def child(self, chapter: str) -> int | None:
        """Run a process and keep what it says; how it ended, None where its time was over."""
        words = [sys.executable, str(SCRIPT), "--chapter", chapter, *self.flags]
        for name in self.begun:
            words += ["--done", name]
        with tempfile.TemporaryFile("w+") as out:
            try:
                code = subprocess.run(words, stdout=out, check=False,
                                      timeout=max(1.0, self.deadline - time.monotonic())).returncode
            except subprocess.TimeoutExpired:
                code = None
            out.seek(0)
            for line in out:
                if line.startswith("{") and line.endswith("}\n"):
                    self.take(json.loads(line))
        return code

    def take(self, record: dict[str, Any]) -> None:
        """Keep what a line says."""
        if "begun" in record:
            self.begun.append(record["begun"])
        elif "row" in record:
            row, group = Row(**record["row"]), self.groups[record["group"]]
            row.others = {name: tuple(found) for name, found in row.others.items()}
            group.rows.append(row)
            self.ended.add(f"{group.title}, {row.label}")
            harness.show(group, row)
        elif "failed" in record:
            self.ended.add(record["failed"])
            self.troubles.append(f"{record['failed']}: {record['reason']}")
        elif "refused" in record:
            self.refusals[record["refused"][:200]] = None
        else:
            self.torch = record["torch"]

    def notes(self, said: str) -> list[str]:
        """The lines above the table."""
        found = [f"{description()}. Ratio: median of our time / PyTorch's on the same device, interleaved, with a wait "
                 f"for it after each; below 1 is faster. Column \"{OWN}\": without NVIDIA's libraries. "
                 f"Libraries: {libraries()}."]
        found += [f"Tests on the GPU: {said}."] * bool(said)
        found += ["", "Rows that failed:", "", *[f"- {trouble}" for trouble in self.troubles]] * bool(self.troubles)
        found += ["", "What libraries refused, and our own kernels did:", "",
                  *[f"- {refusal}" for refusal in self.refusals]] * bool(self.refusals)
        return found


def description() -> str:
    """The device."""
    return table("cuda").description() if Where.device == "cuda" else "Dry run on the host: the numbers mean nothing"


def libraries() -> str:
    """Which of NVIDIA's libraries our own rows may use."""
    from lucid_nb.cuda import cublaslt, cudnn, cupy
    found = {"cuBLASLt": cublaslt.found(), "cuDNN": cudnn.module(), "CuPy": cupy.module()}
    return ", ".join(name for name, there in found.items() if there) or "none"


def tested() -> str:
    """The tests of kernels, ops, networks and optimizers on the GPU; what pytest says in the end."""
    words = [sys.executable, "-m", "pytest", "-q", "-n", str(min(os.cpu_count() or 1, 12)), "--maxfail", "40",
             "--tb", "short", "-m", "cuda_simulator and not simulated and not sweep", "tests"]
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_ENABLE_CUDASIM"}
    is_over = False
    with tempfile.TemporaryFile("w+") as out:
        running = subprocess.Popen(words, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env=environment)
        try:
            running.wait(FOR_TESTS)
        except subprocess.TimeoutExpired:
            is_over = True
            running.send_signal(signal.SIGINT)                      # pytest then says what it has seen
            try:
                running.wait(20)
            except subprocess.TimeoutExpired:
                running.kill()
        out.seek(0)
        text = out.read()
    print(text[-6000:])
    lines = [line.strip("= ") for line in text.splitlines() if " passed" in line or " failed" in line]
    failed = [line.removeprefix("FAILED ") for line in text.splitlines() if line.startswith("FAILED ")]
    last = lines[-1] if lines else f"nothing, exit {running.returncode}"
    return last + " (stopped when their time was over)" * is_over + "".join(f"; failed {name}" for name in failed[:40])


def main() -> None:
    """Tests, times, table and plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="small, on the host, no tests, into the folder build")
    parser.add_argument("--skip-tests", action="store_true", help="times alone")
    parser.add_argument("--chapter", help="some of the rows, as lines for the process above")
    parser.add_argument("--done", action="append", default=[], help="a row that was tried")
    given = parser.parse_args()
    if given.dry_run:
        Where.device, Where.is_small = "cpu", True
        harness.settings.rounds = 1
    elif not lnb.backend.is_usable("cuda"):
        sys.exit(f"bench/gpu.py: {why_not()}")
    if given.chapter:
        run_chapter(given.chapter, given.done)
        return
    deadline = time.monotonic() + SECONDS
    said = "" if given.dry_run or given.skip_tests else tested()
    report = Report(deadline, ["--dry-run"] * given.dry_run)
    for chapter in dict.fromkeys(case.chapter for case in gpu_cases.cases()):
        report.fill(chapter)
    write(report, said, ROOT / "build" if given.dry_run else harness.RESULTS)


def why_not() -> str:
    """Why there is no GPU."""
    try:
        table("cuda")
    except lnb.errors.BackendError as error:
        return str(error)
    return ""


def write(report: Report, said: str, folder: Path) -> None:
    """The table, and the plot beside it."""
    versions = {"lucid_nb": lnb.__version__, "torch": report.torch}
    groups = list(report.groups.values())
    text = tables.text("On an NVIDIA GPU", groups, versions, report.notes(said), "torch")
    print("\n".join(tables.summary(groups)), *report.troubles, sep="\n")
    print(tables.save(text, folder / "cuda.md"))
    try:
        import plots
        print(plots.save(groups, folder / "cuda.png", threads=0))
    except Exception as error:                                      # the numbers are written, whatever a plot says
        print(f"no plot: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()

"""The test suite in three lanes, each in processes of its own, and one sum of them all.

    python tests/lanes.py --workers 2
    python tests/lanes.py --lane simulator

parallel   everything but the lanes below, one library thread in each worker
serial     tests of threads, forks and caches, which must not share the machine
simulator  CUDA kernels in Numba's simulator, which has to be chosen before Numba is imported; where numba-cuda exists
"""

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "lanes"


class Lane(NamedTuple):
    """One pytest process: its arguments and what it needs in the environment."""

    name: str
    arguments: tuple[str, ...]
    environment: dict[str, str]


class Outcome(NamedTuple):
    """What one lane came to."""

    name: str
    exit_code: int
    passed: int
    failed: int
    skipped: int
    seconds: float


def lanes(workers: int) -> tuple[Lane, ...]:
    """The lanes, in the order in which they run."""
    rest = "not serial and not cuda_simulator and not sweep"
    everywhere = (
        Lane("parallel", ("-n", str(workers), "-m", rest), {"LUCID_NB_NUM_THREADS": "1"}),
        Lane("serial", ("tests", "-m", "serial and not cuda_simulator and not sweep"), {}),
    )
    simulator = Lane("simulator", ("tests", "-n", str(workers), "-m", "cuda_simulator and not sweep"),
                     {"NUMBA_ENABLE_CUDASIM": "1", "LUCID_NB_NUM_THREADS": "1"})
    return (*everywhere, simulator) if find_spec("numba_cuda") else everywhere


def run(lane: Lane) -> Outcome:
    """Run one lane; a lane without a single test has failed."""
    report = REPORTS / f"{lane.name}.xml"
    report.unlink(missing_ok=True)
    print(f"\n== {lane.name} lane", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "--durations=10", f"--junitxml={report}", *lane.arguments]
    start = time.perf_counter()
    code = subprocess.run(command, cwd=ROOT, env=os.environ | lane.environment, check=False).returncode
    seconds = time.perf_counter() - start
    if not report.exists():
        return Outcome(lane.name, code or 1, 0, 1, 0, seconds)
    suite = ElementTree.parse(report).getroot().find("testsuite")
    total, errors, failures, skipped = (int(suite.get(key)) for key in ("tests", "errors", "failures", "skipped"))
    failed = errors + failures
    return Outcome(lane.name, code, total - failed - skipped, failed, skipped, seconds)


def main() -> int:
    """Run all lanes, also after a failure, and say how each ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2, help="processes of the parallel lane")
    parser.add_argument("--lane", help="only this one")
    chosen = parser.parse_args()
    REPORTS.mkdir(parents=True, exist_ok=True)
    outcomes = [run(lane) for lane in lanes(chosen.workers) if chosen.lane in (None, lane.name)]
    if not outcomes:
        parser.error(f"there is no lane {chosen.lane!r} here")
    print("\n== summary")
    for o in outcomes:
        verdict = "passed" if o.exit_code == 0 else f"FAILED (exit {o.exit_code})"
        print(f"{o.name:10} {verdict:17} {o.passed:6} passed {o.failed:4} failed {o.skipped:4} skipped"
              f" {o.seconds:7.1f} s")
    print(f"{sum(o.passed for o in outcomes)} passed, {sum(o.failed for o in outcomes)} failed, "
          f"{sum(o.skipped for o in outcomes)} skipped")
    return int(any(o.exit_code for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())

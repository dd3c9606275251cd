"""Measuring side by side: two functions interleaved in one process, median of the ratios, results checked equal."""

import datetime
import math
import platform
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).with_name("results")


@dataclass
class Row:
    """One comparison: time ours / time of the peer, and our time in microseconds."""

    label: str
    ratio: float
    ours: float
    peer: float


@dataclass
class Group:
    """Rows that the issue judges together."""

    title: str
    target: str
    rows: list[Row] = field(default_factory=list)

    def mean(self) -> float:
        """Geometric mean of the ratios."""
        return math.exp(statistics.fmean(math.log(row.ratio) for row in self.rows))


def measure(ours: Callable, peer: Callable, rounds: int = 21, seconds: float = 0.01) -> tuple[float, float, float]:
    """Median ratio of neighbouring measurements, and the median times of a call in microseconds."""
    ours(), peer()
    number = max(1, int(seconds / max(timeit.timeit(ours, number=3) / 3, 1e-7)))
    pairs = []
    for turn in range(rounds):
        first, second = (ours, peer) if turn % 2 == 0 else (peer, ours)      # neither always runs in the other's wake
        a, b = timeit.timeit(first, number=number), timeit.timeit(second, number=number)
        pairs.append((a, b) if turn % 2 == 0 else (b, a))
    ratio = statistics.median(a / b for a, b in pairs)
    return (ratio, *(statistics.median(column) / number * 1e6 for column in zip(*pairs)))


def check_equal(label: str, ours: object, peer: object, rtol: float) -> None:
    """Stop where the two do not compute the same."""
    a, b = (np.asarray(x.detach().numpy() if hasattr(x, "detach") else x, dtype=np.float64) for x in (ours, peer))
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=label)


def compare(group: Group, label: str, ours: Callable, peer: Callable, *, rtol: float = 1e-5, seconds: float = 0.01,
            rounds: int = 21) -> None:
    """Check that both give the same, measure, print and keep a row."""
    check_equal(label, ours(), peer(), rtol)
    add(group, label, *measure(ours, peer, rounds, seconds))


def add(group: Group, label: str, ratio: float, ours: float, peer: float) -> None:
    """Print and keep a row."""
    group.rows.append(Row(label, ratio, ours, peer))
    print(f"{group.title[:28]:28s} {label:44s} {ratio:6.2f}   {ours:10.2f} us {peer:10.2f} us", flush=True)


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(": ", 1)[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def write(name: str, title: str, groups: Sequence[Group], versions: dict[str, str]) -> Path:
    """Write a table under bench/results/, with the command and the machine."""
    command = "python " + " ".join([f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    lines = [f"# {title}", "", f"`{command}`", "",
             f"{datetime.date.today()}, {processor()}, Python {platform.python_version()}, "
             + ", ".join(f"{key} {value}" for key, value in versions.items()) + ".",
             "Ratio: median of our time / the peer's, interleaved in one process; below 1 is faster. Times are medians "
             "in microseconds.", "", "| group | rows | geometric mean | worst | target |", "|---|---|---|---|---|"]
    lines += [f"| {g.title} | {len(g.rows)} | {g.mean():.2f} | {max(r.ratio for r in g.rows):.2f} | {g.target} |"
              for g in groups if g.rows]
    lines += ["", "| group | work | ratio | ours (us) | peer (us) |", "|---|---|---|---|---|"]
    lines += [f"| {g.title} | {r.label} | {r.ratio:.2f} | {r.ours:.2f} | {r.peer:.2f} |"
              for g in groups for r in g.rows]
    path = RESULTS / f"{name}.md"
    temporary = path.with_suffix(".tmp")
    temporary.write_text("\n".join(lines) + "\n")
    temporary.replace(path)
    return path


def main(name: str, title: str, groups: Mapping[str, Callable[[], Sequence[Group]]], versions: dict[str, str]) -> None:
    """Run the groups that the command line names, or all, and then write their table."""
    done = [group for wanted in sys.argv[1:] or groups for group in groups[wanted]()]
    for group in done:
        print(f"{group.title:34s} mean {group.mean():.2f}  worst {max(r.ratio for r in group.rows):.2f}  "
              f"target {group.target}")
    if not sys.argv[1:]:
        print(write(name, title, done, versions))


def stopwatch() -> Callable[[], float]:
    """Seconds since it was made."""
    start = time.perf_counter()
    return lambda: time.perf_counter() - start

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


SIDES = ("both", "ours", "peer")
side = "both"            # whose times are taken: with several threads each side has a process of its own (network.py)


@dataclass
class Row:
    """One comparison: time ours / time of the peer, and the times in microseconds."""

    label: str
    ratio: float
    ours: float
    peer: float
    flops: float = 0.0                                              # of one call, where the work is arithmetic
    others: dict[str, float] = field(default_factory=dict)          # time ours / time of further peers


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
            rounds: int = 21, flops: float = 0.0, others: Mapping[str, Callable] | None = None) -> None:
    """Check that both give the same, measure, print and keep a row."""
    if side != "both":
        time_alone = alone(ours if side == "ours" else peer, rounds, seconds)
        add(group, label, 1.0, time_alone, time_alone, flops)
        return
    check_equal(label, ours(), peer(), rtol)
    add(group, label, *measure(ours, peer, rounds, seconds), flops,
        {name: measure(ours, other, rounds // 2 + 1, seconds)[0] for name, other in (others or {}).items()})


def alone(function: Callable, rounds: int, seconds: float) -> float:
    """The median time of a call in microseconds."""
    function()
    number = max(1, int(seconds / max(timeit.timeit(function, number=3) / 3, 1e-7)))
    return statistics.median(timeit.timeit(function, number=number) for _ in range(rounds)) / number * 1e6


def add(group: Group, label: str, ratio: float, ours: float, peer: float, flops: float = 0.0,
        others: dict[str, float] | None = None) -> None:
    """Print and keep a row."""
    group.rows.append(Row(label, ratio, ours, peer, flops, others or {}))
    rate = f"{flops / ours / 1e3:8.1f} GFLOP/s" if flops else ""
    print(f"{group.title[:28]:28s} {label:44s} {ratio:6.2f}   {ours:10.2f} us {peer:10.2f} us {rate}", flush=True)


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(": ", 1)[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def write(name: str, title: str, groups: Sequence[Group], versions: dict[str, str],
          folder: Path = RESULTS) -> Path:
    """Write a table under bench/results/, with the command and the machine."""
    command = "python " + " ".join([f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    lines = [f"# {title}", "", f"`{command}`", "",
             f"{datetime.date.today()}, {processor()}, Python {platform.python_version()}, "
             + ", ".join(f"{key} {value}" for key, value in versions.items()) + ".",
             "Ratio: median of our time / the peer's, interleaved in one process; below 1 is faster. Times are medians "
             "in microseconds.", "", "| group | rows | geometric mean | worst | target |", "|---|---|---|---|---|"]
    lines += [f"| {g.title} | {len(g.rows)} | {g.mean():.2f} | {max(r.ratio for r in g.rows):.2f} | {g.target} |"
              for g in groups if g.rows]
    lines += table(groups)
    path = folder / f"{name}.md"
    temporary = path.with_suffix(".tmp")
    temporary.write_text("\n".join(lines) + "\n")
    temporary.replace(path)
    return path


def table(groups: Sequence[Group]) -> list[str]:
    """A row for each comparison; columns for GFLOP/s and further peers where there are any."""
    rows = [(g, r) for g in groups for r in g.rows]
    peers = list(dict.fromkeys(name for _, r in rows for name in r.others))
    rated = any(r.flops for _, r in rows)
    head = ["group", "work", "ratio", "ours (us)", "peer (us)", *["GFLOP/s"] * rated, *[f"/ {name}" for name in peers]]
    lines = ["", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for g, r in rows:
        cells = [g.title, r.label, f"{r.ratio:.2f}", f"{r.ours:.2f}", f"{r.peer:.2f}"]
        cells += [f"{r.flops / r.ours / 1e3:.1f}" if r.flops else ""] * rated
        cells += [f"{r.others[name]:.2f}" if name in r.others else "" for name in peers]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


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

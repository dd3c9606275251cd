"""The tables of bench/results/: groups with their means, then a line for each row with all who were timed."""

import datetime
import math
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness import RESULTS, Group, Row, geometric_mean

SLOW, WANTED = 10_000, 1.7       # microseconds on one thread from which on two threads are to be so much faster


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(": ", 1)[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def number(value: float, digits: int = 2) -> str:
    """A cell; empty for nan."""
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, after an empty one."""
    return ["", f"| {' | '.join(head)} |", "|---" * len(head) + "|", *[f"| {' | '.join(row)} |" for row in rows]]


def names_of(groups: Sequence[Group]) -> list[str]:
    """The further libraries that rows have: PyTorch's other ways first, then by name."""
    names = {name for group in groups for row in group.rows for name in row.others}
    return sorted(names, key=lambda name: (not name.startswith("torch"), name.lower()))


def mean_beside(group: Group, name: str) -> float:
    """Geometric mean of our time / a library's."""
    found = [row.others.get(name, "") for row in group.rows]
    return geometric_mean(beside[1] for beside in found if not isinstance(beside, str))


def worst(group: Group) -> float:
    """The largest ratio; nan without a peer."""
    return max((row.ratio for row in group.rows if not math.isnan(row.ratio)), default=math.nan)


def summary(groups: Sequence[Group]) -> list[str]:
    """A line for each group: means and the worst ratio, the means beside further libraries, the gain of threads."""
    groups = [group for group in groups if group.rows]
    names, is_threaded = names_of(groups), any(row.single for group in groups for row in group.rows)
    head = ["group", "rows", "geometric mean", "worst", "target", *["speed-up"] * is_threaded,
            *[f"ours / {name}" for name in names]]
    return markdown(head, [
        [group.title, str(len(group.rows)), number(group.mean()), number(worst(group)), group.target,
         *[number(geometric_mean(row.speedup for row in group.rows))] * is_threaded,
         *[number(mean_beside(group, name)) for name in names]] for group in groups])


def details(groups: Sequence[Group], peer: str) -> list[str]:
    """A line for each row; columns of rates, of one thread and of libraries where there are any."""
    pairs = [(group, row) for group in groups for row in group.rows]
    columns: dict[str, Callable[[Row], str]] = {
        "ratio": lambda row: number(row.ratio), "ours (us)": lambda row: number(row.ours),
        f"{peer} (us)": lambda row: number(row.peer)}
    if any(row.single for _, row in pairs):
        columns |= {"1 thread (us)": lambda row: number(row.single), "speed-up": lambda row: number(row.speedup)}
    if any(row.flops for _, row in pairs):
        columns["GFLOP/s"] = lambda row: number(row.flops / row.ours / 1e3, 1) if row.flops else ""
    if any(row.moved for _, row in pairs):
        columns["GB/s"] = lambda row: number(row.moved / row.ours / 1e3, 1) if row.moved else ""
    columns |= {f"{name} (us)": lambda row, name=name: beside(row, name) for name in names_of(groups)}
    return markdown(["group", "work", *columns],
                    [[group.title, row.label, *[column(row) for column in columns.values()]] for group, row in pairs])


def beside(row: Row, name: str) -> str:
    """A library's time, or why there is none."""
    found = row.others.get(name, "")
    return found if isinstance(found, str) else number(found[0])


def slow_rows(groups: Sequence[Group]) -> list[str]:
    """The rows that compute and gain less from threads than is wanted; none where nothing was timed with threads."""
    pairs = [(group, row) for group in groups for row in group.rows if row.single]
    if not pairs:
        return []
    slow = [(group, row) for group, row in pairs if not row.moved and row.single > SLOW and row.speedup < WANTED]
    return ["", f"Bound by arithmetic, above {SLOW / 1000:g} ms on one thread, with a speed-up below {WANTED}: "
            + ("; ".join(f"{group.title}, {row.label} ({row.speedup:.2f})" for group, row in slow) or "none") + "."]


def text(title: str, groups: Sequence[Group], versions: Mapping[str, str], notes: Sequence[str] = (),
         peer: str = "peer", command: str = "") -> str:
    """A table with its title, the command and the machine."""
    command = command or " ".join(["python", f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    made = (f"{datetime.date.today()}, {processor()}, Python {platform.python_version()}, "
            + ", ".join(f"{name} {version}" for name, version in versions.items()) + ".")
    notes = notes or ["Ratio: median of our time / the peer's, interleaved in one process; below 1 is faster. Times "
                      "are medians in microseconds."]
    return "\n".join([f"# {title}", "", f"`{command}`", "", made, *notes, *summary(groups), *slow_rows(groups),
                      *details(groups, peer), ""])


def save(table: str, path: Path) -> Path:
    """Write a table; whoever reads it meanwhile finds the old one whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(table, encoding="utf-8")
    temporary.replace(path)
    return path


def main(name: str, title: str, groups: Mapping[str, Callable[[], Sequence[Group]]], versions: dict[str, str]) -> None:
    """Run the groups that the command line names, or all, and then write their table."""
    done = [group for wanted in sys.argv[1:] or groups for group in groups[wanted]()]
    print("\n".join(summary(done)))
    if not sys.argv[1:]:
        print(save(text(title, done, versions), RESULTS / f"{name}.md"))

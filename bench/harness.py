"""Measuring side by side: functions interleaved in one process, medians, results checked equal."""

import math
import statistics
import sys
import timeit
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import libraries
import numpy as np
from libraries import Side
from work import Work

RESULTS = Path(__file__).with_name("results")
BUDGET = 0.4                     # seconds for a pair of functions, of which slow ones take more
FEWEST, SLOW = 5, 0.2            # rounds of slow ones; seconds of a call that a further library repeats
DIFFERS, ABSENT = "differs", "none"              # in the place of a time: another result; no such function
Beside = tuple[float, float] | str               # a library's time of a call and our time / it; or why there is none


@dataclass
class Row:
    """One comparison: time ours / time of the peer, and the times in microseconds."""

    label: str
    ratio: float = math.nan                                         # nan without the peer
    ours: float = 0.0
    peer: float = math.nan
    flops: float = 0.0                                              # of one call, where the work is arithmetic
    moved: float = 0.0                                              # bytes, where the work is reading and writing
    others: dict[str, Beside] = field(default_factory=dict)
    single: float = 0.0                                             # our time with one thread, beside one with several

    @property
    def speedup(self) -> float:
        """How much faster several threads are than one; nan where several were not timed."""
        return self.single / self.ours if self.single else math.nan


@dataclass
class Group:
    """Rows that the issue judges together."""

    title: str
    target: str
    rows: list[Row] = field(default_factory=list)

    def mean(self) -> float:
        """Geometric mean of the ratios."""
        return geometric_mean(row.ratio for row in self.rows)


class Pair(NamedTuple):
    """What a row measures: ours, the peer (None where PyTorch is not installed), and how."""

    ours: Callable
    peer: Callable | None
    rtol: float | None
    seconds: float
    rounds: int
    others: Mapping[str, Callable]
    work: Work | None


def geometric_mean(values: Iterable[float]) -> float:
    """Of those that are numbers; nan when there is none."""
    logarithms = [math.log(value) for value in values if not math.isnan(value)]
    return math.exp(statistics.fmean(logarithms)) if logarithms else math.nan


def calls_in(function: Callable, seconds: float) -> int:
    """How many calls fill a block of so many seconds. Of a quick function the first call may not count."""
    once = timeit.timeit(function, number=1)
    if once < 10 * seconds:
        once = timeit.timeit(function, number=3) / 3
    return max(1, int(seconds / max(once, 1e-7)))


def measure(ours: Callable, peer: Callable, rounds: int = 21, seconds: float = 0.01, budget: float = BUDGET,
            fewest: int = FEWEST) -> tuple[float, float, float]:
    """Median ratio of neighbouring measurements, and the median times of a call in microseconds."""
    functions, numbers = (ours, peer), (calls_in(ours, seconds), calls_in(peer, seconds))
    pairs: list[tuple[float, float]] = []
    while len(pairs) < rounds:
        order = (0, 1) if len(pairs) % 2 == 0 else (1, 0)                    # neither always runs in the other's wake
        times = {side: timeit.timeit(functions[side], number=numbers[side]) / numbers[side] for side in order}
        pairs.append((times[0], times[1]))
        cost = times[0] * numbers[0] + times[1] * numbers[1]
        rounds = min(rounds, max(fewest, int(budget / cost)))
    ratio = statistics.median(a / b for a, b in pairs)
    return (ratio, *(statistics.median(column) * 1e6 for column in zip(*pairs)))


def numbers_of(found: Any) -> np.ndarray:
    """A result of any library as float64."""
    return np.asarray(found.detach().numpy() if hasattr(found, "detach") else found, dtype=np.float64)


def check_equal(label: str, ours: object, peer: object, rtol: float) -> None:
    """Stop where the two do not compute the same."""
    np.testing.assert_allclose(numbers_of(ours), numbers_of(peer), rtol=rtol, atol=rtol, err_msg=label)


def is_equal(ours: object, theirs: object, rtol: float) -> bool:
    """Is it, relative to the largest number? Libraries differ in rounding; this tells another function from ours."""
    a, b = numbers_of(ours), numbers_of(theirs)
    return a.shape == b.shape and bool(np.abs(a - b).max(initial=0) <= max(rtol, 1e-4) * np.abs(a).max(initial=1))


def compare(group: Group, label: str, ours: Callable, peer: Callable | None, *, rtol: float | None = 1e-5,
            seconds: float = 0.01, rounds: int = 21, flops: float = 0.0, moved: float = 0.0,
            others: Mapping[str, Callable] | None = None, work: Work | None = None) -> None:
    """Check that both give the same (unless rtol is None), measure, and keep a row.

    `others` are further calls to time beside ours; `work` says what is done to the libraries that have an equal of it.
    """
    if len(group.rows) >= settings.limit:
        return
    row = Row(label, flops=flops or 0.0, moved=moved)
    settings.runner(group, row, Pair(ours, peer, rtol, seconds, min(rounds, settings.rounds), others or {}, work))
    group.rows.append(row)
    settings.show(group, row)


def interleaved(group: Group, row: Row, pair: Pair) -> None:
    """Take all times in this process, turn by turn. All results are compared before: steps of training change them."""
    wanted, sides = pair.ours(), list(sides_of(pair))
    if pair.rtol is not None:
        wanted = numbers_of(wanted)
        if pair.peer is not None:
            check_equal(row.label, wanted, pair.peer(), pair.rtol)
        row.others = {side.name: verdict(row.label, side, wanted, pair.rtol) for side in sides}
    if pair.peer is None:
        row.ours = measure(pair.ours, pair.ours, pair.rounds, pair.seconds)[1]
    else:
        row.ratio, row.ours, row.peer = measure(pair.ours, pair.peer, pair.rounds, pair.seconds)
    for side in sides:
        if not row.others.get(side.name):
            row.others[side.name] = against(row, pair, side)
    if pair.work and settings.child:
        row.others[settings.child.name] = by_child(row, pair)


def against(row: Row, pair: Pair, side: Side) -> Beside:
    """A library's time beside ours; of a slow one a single time beside our median."""
    once = timeit.timeit(side.call, number=1)
    if once > SLOW:
        return once * 1e6, row.ours / (once * 1e6)
    ratio, _, theirs = measure(pair.ours, side.call, pair.rounds // 2 + 1, pair.seconds, BUDGET / 2, 1)
    return theirs, ratio


def sides_of(pair: Pair) -> Iterator[Side]:
    """What is timed beside the peer."""
    yield from (Side(name, call, numbers_of) for name, call in pair.others.items())
    if pair.work:
        yield from libraries.sides(pair.work)


def verdict(label: str, side: Side, wanted: np.ndarray, rtol: float) -> str:
    """Nothing where a library gives what we give; else what the table says in the place of its time."""
    try:
        return "" if is_equal(wanted, side.results(side.call()), rtol) else DIFFERS
    except Exception as error:           # libraries say in ways of their own what they cannot do
        print(f"{side.name}, {label}: {type(error).__name__}: {error}", file=sys.stderr)
        return ABSENT


def by_child(row: Row, pair: Pair) -> Beside:
    """The time of a library in another environment, beside our median."""
    seconds = math.nan

    def call() -> np.ndarray:
        nonlocal seconds
        seconds, found = settings.child.measure(pair.work)
        return found
    said = verdict(row.label, Side(settings.child.name, call, numbers_of), numbers_of(pair.ours()), pair.rtol or 0)
    return said or (seconds * 1e6, row.ours / (seconds * 1e6))


def show(group: Group, row: Row) -> None:
    """Print a row."""
    print(line(group, row), flush=True)


def line(group: Group, row: Row) -> str:
    """A row as it is printed while others are measured."""
    parts = [f"{group.title[:28]:28s} {row.label:44s}", f"{row.ours:10.2f} us"]
    if not math.isnan(row.ratio):
        parts[1:] = [f"{row.ratio:6.2f}   {row.ours:10.2f} us {row.peer:10.2f} us"]
    if row.single:
        parts.append(f"{row.speedup:5.2f} x")
    if row.flops:
        parts.append(f"{row.flops / row.ours / 1e3:8.1f} GFLOP/s")
    if row.moved:
        parts.append(f"{row.moved / row.ours / 1e3:8.1f} GB/s")
    parts += [f"{name} {beside if isinstance(beside, str) else f'{beside[1]:.2f}'}"
              for name, beside in row.others.items()]
    return " ".join(parts)


@dataclass
class Settings:
    """How rows are measured in this process, and what becomes of them."""

    runner: Callable[[Group, Row, Pair], None] = interleaved
    show: Callable[[Group, Row], None] = show
    limit: int = sys.maxsize                                        # rows of a group
    rounds: int = sys.maxsize
    child: Any = None                                               # lucid_dl.Child, where it was asked for


settings = Settings()

"""Results, gradients, forward mode and second derivatives against PyTorch's operator database.

    python bench/opinfo.py [names of operators]

Every call of the database (seed 0) of every operator in bench/operators is made by both libraries. Needs the extra
`dev`. Prints the table and writes bench/results/opinfo.md, unless operators are named; fails where something differs
that bench/operators/reasons.py does not explain.
"""

import platform
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from operators import CHAPTERS, LATER, entry
from operators.comparison import Difference, differences
from operators.reasons import reason
from operators.records import calls, database

RESULTS = Path(__file__).parent / "results" / "opinfo.md"
DTYPES = ("float32", "float64", "complex64", "complex128")


class Outcome(NamedTuple):
    """What a run over operators gave: calls of each operator, and what differed."""

    made: Counter
    agreed: Counter
    differed: list[Difference]

    @property
    def unexplained(self) -> list[Difference]:
        """What differs without a reason."""
        return [difference for difference in self.differed if reason(difference) is None]


def outcome_of(names: set[str], dtypes: tuple[str, ...] = DTYPES) -> Outcome:
    """Every call of these operators, made by both libraries."""
    outcome = Outcome(Counter(), Counter(), [])
    for call in calls({name for name in names if not isinstance(entry(name), str)}, dtypes):
        found = list(differences(entry(call.operator), call))
        outcome.made[call.operator] += 1
        outcome.agreed[call.operator] += not found
        outcome.differed.extend(found)
    return outcome


# -------------------------------------------------------------------------------------------------- report
def of_chapter(counts: Counter, table: dict) -> Counter:
    """The counts of a chapter's operators."""
    return Counter({name: count for name, count in counts.items() if name in table or name.rsplit(".", 1)[0] in table})


def summary(outcome: Outcome) -> list[str]:
    """A row for each chapter."""
    lines = ["| chapter | operators | calls | agree | differ, explained | differ | not there |",
             "|---|--:|--:|--:|--:|--:|--:|"]
    total: Counter = Counter()
    for title, table in CHAPTERS.items():
        row = counted(outcome, table)
        total += Counter() if table is LATER else row
        lines.append(line(title, row))
    return [*lines, line("all but the last", total)]


def counted(outcome: Outcome, table: dict) -> Counter:
    """A chapter's numbers."""
    made, agreed = of_chapter(outcome.made, table), of_chapter(outcome.agreed, table)
    open_ = {id(difference.call) for difference in outcome.unexplained
             if difference.call.operator in made}
    return Counter(operators=len(made), calls=made.total(), agree=agreed.total(), differ=len(open_),
                   explained=made.total() - agreed.total() - len(open_),
                   absent=sum(isinstance(found, str) for found in table.values()))


def line(title: str, row: Counter) -> str:
    """A row of the table."""
    words = ("operators", "calls", "agree", "explained", "differ", "absent")
    return f"| {title} | {' | '.join(f'{row[word]:,}' for word in words)} |"


def listed(outcome: Outcome) -> list[str]:
    """Every kind of difference with its reason and an example."""
    kinds: dict[tuple, list[Difference]] = defaultdict(list)
    for difference in outcome.differed:
        kinds[reason(difference) or "NO REASON KNOWN", difference.call.operator, difference.what].append(difference)
    lines, last = [], ""
    for (why, operator, what), found in sorted(kinds.items()):
        if why != last:
            lines += ["", f"**{why}**", ""]
            last = why
        dtypes = ", ".join(sorted({difference.call.dtype for difference in found}))
        calls_ = len({id(difference.call) for difference in found})
        example = found[0].how.replace("\n", " ")[:160]
        lines.append(f"- {operator}, {what}: {calls_} of {outcome.made[operator]} calls ({dtypes}), as: {example}; "
                     f"`{found[0].call.named()[:200]}`")
    return lines


def absent() -> list[str]:
    """The operators that are not there, with what does the same."""
    return [f"- {name}: {found}" for table in CHAPTERS.values() for name, found in table.items()
            if isinstance(found, str)]


def report(outcome: Outcome) -> str:
    """The page."""
    inside = {name for table in CHAPTERS.values() for name in table}
    outside = [name for name in database() if name not in inside and name.rsplit(".", 1)[0] not in inside]
    later = [name for name in outside if name.startswith(("linalg.", "fft."))]
    made = (f"`python bench/opinfo.py`, {time.strftime('%Y-%m-%d')}, {platform.machine()}, Python "
            f"{platform.python_version()}, numpy {np.__version__}, torch {torch.__version__}.")
    return "\n".join([
        "# Against PyTorch's operator database", "", made, "",
        "Each call of the database (seed 0; float32, float64, complex64 and complex128 where PyTorch has them) is made "
        "by both libraries. Compared are results with shape and dtype, inputs that are written into, gradients, the "
        "product of forward mode with the cotangents against PyTorch's gradients, and in float64 and complex128 second "
        "derivatives. A value may differ by eps to the power 2/3, relative to itself and to the largest of its array. "
        "A call agrees when all of these do.", "",
        *summary(outcome), "",
        f"Linear algebra and Fourier transforms follow: {len(later)} operators of the database are not yet compared. "
        f"{len(outside) - len(later)} other names of the database are not in the table: random numbers, sparse and "
        "masked arrays, memory formats, aliases and copies of operators, polynomials, windows.", "",
        "## What differs, and why", *listed(outcome), "", "## Not there", "", *absent(), ""])


def main() -> int:
    """Compare, print, write."""
    torch.set_num_threads(1)
    asked = set(sys.argv[1:])
    outcome = outcome_of(asked or {name for table in CHAPTERS.values() for name in table})
    print("\n".join([*summary(outcome), *listed(outcome)]))
    if not asked:
        RESULTS.write_text(report(outcome), encoding="utf-8")
    return int(bool(outcome.unexplained))


if __name__ == "__main__":
    sys.exit(main())

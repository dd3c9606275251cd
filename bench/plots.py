"""Plots of a bench's table: ratios by group, GFLOP/s below the machine's measured peak, time against size.

    python bench/plots.py [bench/results/network.md]      draws the plot beside the table anew, without timing

Needs matplotlib.
"""

import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import harness
import matplotlib
from harness import Group, Row
from matplotlib.figure import Figure

INK, FAINT, OURS, SLOWER, PEER = "#222222", "#9a9a9a", "#2f6f8f", "#c8553d", "#d9a441"
SQUARE = re.compile(r"square (\d+)")


def save(groups: Sequence[Group], path: Path, threads: int = 1, peak: float = 0.0) -> Path:
    """Draw the three plots into one picture, below the measured peak of a core, in GFLOP/s. No threads: of a GPU.

    Groups without a peer have no place in them; Winograd's rows, which compute less than is counted, none in the rates.
    """
    groups = [group for group in groups if not math.isnan(group.mean())]
    rates = [row for group in groups for row in group.rows if row.flops and "opt-in" not in group.title]
    sizes = [(int(found[1]), row) for group in groups for row in group.rows if (found := SQUARE.fullmatch(row.label))]
    panels = [*[lambda axes: draw_rates(axes, rates, threads, peak)] * bool(rates),
              *[lambda axes: draw_sizes(axes, sizes)] * bool(sizes)]
    with matplotlib.rc_context({"font.size": 9, "axes.edgecolor": FAINT, "text.color": INK, "axes.labelcolor": INK}):
        figure = Figure(figsize=(12, 2 + 0.28 * len(groups)), layout="constrained", facecolor="white")
        left, *right = figure.subfigures(1, 1 + bool(panels), width_ratios=(1.3, 1)[:1 + bool(panels)],
                                         squeeze=False)[0]
        draw_ratios(left.subplots(), groups, threads)
        for part in right:
            for draw, axes in zip(panels, part.subplots(len(panels), 1, squeeze=False).flat):
                draw(axes)
        figure.savefig(path, dpi=100)
    return path


def cores(threads: int) -> str:
    """In words."""
    return {0: "a GPU", 1: "one core"}.get(threads, f"{threads} cores")


def plain(axes: Any, **labels: Any) -> None:
    """What all axes share."""
    axes.set(**labels)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)


def draw_ratios(axes: Any, groups: Sequence[Group], threads: int) -> None:
    """A line for each group: a dot for each row, a bar at the geometric mean; left of 1 is faster than the peer."""
    for y, group in enumerate(groups):
        ratios = [row.ratio for row in group.rows]
        colors = [OURS if ratio <= 1 else SLOWER for ratio in ratios]
        axes.scatter(ratios, [y] * len(ratios), s=14, c=colors, alpha=0.5, linewidths=0)
        axes.plot([group.mean()] * 2, [y - 0.35, y + 0.35], color=INK, linewidth=2)
    axes.axvline(1, color=INK, linewidth=0.8)
    plain(axes, xscale="log", xlabel=f"our time / PyTorch's, {cores(threads)} (bars: means)",
          ylim=(len(groups) - 0.4, -0.6), yticks=range(len(groups)),
          yticklabels=[f"{group.title}: {group.mean():.2f}" for group in groups])
    axes.set_xticks(*zip(*[(x, f"{x:g}") for x in (0.05, 0.1, 0.2, 0.5, 1, 2)]))
    axes.minorticks_off()


def roof(rows: Sequence[Row], threads: int, peak: float) -> tuple[float, str]:
    """The highest rate that this machine reached, and where: no row can be above what it can do at most."""
    fastest = max(row.flops / min(row.ours, row.peer) / 1e3 for row in rows)
    if fastest > peak * threads:
        return fastest, f"fastest call, {fastest:.0f} GFLOP/s"
    return peak * threads, f"measured peak of {cores(threads)}, {peak * threads:.0f} GFLOP/s"


def draw_rates(axes: Any, rows: Sequence[Row], threads: int, peak: float) -> None:
    """GFLOP/s against the time of a call, ours and the peer's, below the roof."""
    top, label = roof(rows, threads, peak)
    axes.axhline(top, color=INK, linewidth=0.8)
    axes.annotate(label, (0.02, top), (0, 7), fontsize=8, xycoords=axes.get_yaxis_transform(),
                  textcoords="offset points")
    for name, color, times in (("PyTorch", PEER, [row.peer for row in rows]),
                               ("lucid_nb", OURS, [row.ours for row in rows])):
        rates = [row.flops / time / 1e3 for row, time in zip(rows, times)]
        axes.plot(times, rates, "o", markersize=3, color=color, label=name, alpha=0.6, markeredgewidth=0)
    plain(axes, xscale="log", yscale="log", xlabel="time of a call (us)", ylabel="GFLOP/s, float32", ylim=(5, 2 * top))
    axes.legend(frameon=False, loc="lower right")


def draw_sizes(axes: Any, rows: Sequence[tuple[int, Row]]) -> None:
    """Time of square matrix products against their size."""
    sizes = [size for size, _ in rows]
    axes.plot(sizes, [row.peer for _, row in rows], "o-", color=PEER, label="PyTorch", markersize=4)
    axes.plot(sizes, [row.ours for _, row in rows], "o-", color=OURS, label="lucid_nb", markersize=4)
    plain(axes, xscale="log", yscale="log", xlabel="rows of a square matrix product", ylabel="time (us)")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.legend(frameon=False, loc="upper left")


def read(path: Path) -> list[Group]:
    """The groups of a written table."""
    tables = [[cell.strip() for cell in line.strip("|").split("|")] for line in path.read_text().splitlines()
              if line.startswith("|") and not line.startswith("|---")]
    start = next(number for number, cells in enumerate(tables) if cells[1] == "work")
    groups = {cells[0]: Group(cells[0], cells[4]) for cells in tables[1:start]}
    for cells in tables[start + 1:]:
        row = dict(zip(tables[start], cells))
        ratio, ours, peer = (float(row[name] or "nan") for name in ("ratio", "ours (us)", "torch (us)"))
        rate = float(row.get("GFLOP/s") or 0)
        groups[row["group"]].rows.append(Row(row["work"], ratio, ours, peer, rate * ours * 1e3))
    return list(groups.values())


def peak_of(path: Path) -> float:
    """The peak of a core that a written table names, in GFLOP/s; 0 if none."""
    found = re.search(r"reach ([\d.]+) GFLOP/s of float32 on one core", path.read_text(encoding="utf-8"))
    return float(found[1]) if found else 0.0


if __name__ == "__main__":
    table = Path(sys.argv[1]) if sys.argv[1:] else harness.RESULTS / "network.md"
    found = re.search(r"_(\d+)_threads", table.stem)
    print(save(read(table), table.with_suffix(".png"), int(found[1]) if found else 1, peak_of(table)))

"""Plots of a bench: the ratio of each row, and GFLOP/s against the machine's measured peak. Needs matplotlib."""

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import peak
from harness import Group
from matplotlib.figure import Figure

INK, FAINT, FASTER, SLOWER = "#222222", "#9a9a9a", "#2f6f8f", "#c8553d"
ROWS_AN_INCH = 5.2


def save(groups: Sequence[Group], path: Path) -> Path:
    """Draw the ratios group by group, and where rows count arithmetic, how near they come to the peak."""
    groups = [group for group in groups if group.rows]
    count = sum(len(group.rows) + 1 for group in groups)
    style = {"font.size": 8, "axes.edgecolor": FAINT, "text.color": INK, "axes.labelcolor": INK}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(12, max(5, count / ROWS_AN_INCH)), layout="constrained", facecolor="white")
        left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
        draw_ratios(left, groups)
        draw_rates(right, groups)
        figure.savefig(path, dpi=100)
    return path


def draw_ratios(axes: Any, groups: Sequence[Group]) -> None:
    """A dot for each row on a logarithmic axis; left of the line is faster than the peer."""
    y, ticks, labels = 0, [], []
    for group in groups:
        axes.text(0.0, y, f"{group.title}: mean {group.mean():.2f} (asked {group.target})", fontsize=8.5,
                  fontweight="bold", va="center", transform=axes.get_yaxis_transform())
        for row in group.rows:
            y += 1
            axes.plot([1, row.ratio], [y, y], color=FASTER if row.ratio <= 1 else SLOWER, linewidth=1)
            axes.plot(row.ratio, y, "o", markersize=3.5, color=FASTER if row.ratio <= 1 else SLOWER)
            ticks.append(y)
            labels.append(row.label)
        y += 1.5
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.set(xscale="log", xlabel="our time / PyTorch's", ylim=(y, -1), yticks=ticks)
    axes.set_xticks(*zip(*[(x, f"{x:g}") for x in (0.1, 0.2, 0.5, 1, 2, 5)]))
    axes.set_yticklabels(labels, fontsize=6.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", alpha=0.25, linewidth=0.6)


def draw_rates(axes: Any, groups: Sequence[Group]) -> None:
    """GFLOP/s against the time of a call, ours and the peer's, below the roof that this machine reached."""
    roof = peak.gigaflops()
    axes.axhline(roof, color=INK, linewidth=0.8)
    axes.annotate(f"measured peak of one core, {roof:.0f} GFLOP/s", (0.02, roof), (0, 4), fontsize=8,
                  xycoords=axes.get_yaxis_transform(), textcoords="offset points")
    rows = [row for group in groups for row in group.rows if row.flops]
    for name, color, is_ours in (("PyTorch", FAINT, False), ("lucid_nb", FASTER, True)):
        times = [row.ours if is_ours else row.peer for row in rows]
        rates = [row.flops / time / 1e3 for row, time in zip(rows, times)]
        axes.plot(times, rates, "o", markersize=3.5, color=color, label=name, alpha=0.8)
        if rates:
            mean = math.exp(statistics.fmean(map(math.log, rates)))
            axes.plot([], [], " ", label=f"   mean {mean:.0f} GFLOP/s")
    axes.set(xscale="log", yscale="log", xlabel="time of a call (us)", ylabel="GFLOP/s, float32, one thread")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.legend(frameon=False, loc="lower right")

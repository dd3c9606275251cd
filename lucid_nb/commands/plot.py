"""The plot of the demo. Importing this needs matplotlib."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BackendError

if TYPE_CHECKING:
    from .demo import Run

try:
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, MaxNLocator
except ImportError:
    raise BackendError("plot: matplotlib is not installed. "
                       "Install the extra, in a clone: pip install -e '.[plot]'.") from None

INK, FAINT, LOSS, ACCURACY, WRONG = "#222222", "#9a9a9a", "#c8553d", "#2f6f8f", "#d1495b"
ROWS, COLS = 5, 8


def save(trained: "Run", images: np.ndarray, labels: np.ndarray, path: Path) -> None:
    """Draw how the training went, and test digits with what was made of them; the wrong ones come first."""
    wrong = np.flatnonzero(trained.guesses != labels)
    with matplotlib.rc_context({"font.size": 9, "axes.edgecolor": FAINT, "text.color": INK, "axes.labelcolor": INK}):
        figure = Figure(figsize=(11, 4.6), layout="constrained", facecolor="white")
        left, right = figure.subfigures(1, 2, width_ratios=(1, 1.35), squeeze=False)[0]
        draw_curves(left, trained)
        right.suptitle(f"{len(labels)} test digits, {len(wrong)} wrong (in red: guess, truth)", fontsize=10)
        draw_digits(right, trained.guesses, images, labels, wrong)
        figure.savefig(path, dpi=110)


def draw_curves(figure: Any, trained: "Run") -> None:
    """Loss and accuracy by epoch, one above the other."""
    epochs = range(1, len(trained.losses) + 1)
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(epochs, trained.losses, "o-", color=LOSS, linewidth=1.6, markersize=3)
    upper.set(ylabel="training loss", yscale="log")
    upper.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    upper.yaxis.set_major_formatter("{x:g}")
    upper.minorticks_off()
    lower.plot(epochs, trained.accuracies, "o-", color=ACCURACY, linewidth=1.6, markersize=3)
    lower.xaxis.set_major_locator(MaxNLocator(integer=True, steps=(1, 2, 5, 10)))
    lower.set(ylabel="test accuracy", xlabel="epoch", ylim=(max(min(trained.accuracies) - 0.02, 0), 1.005))
    lower.annotate(f"{trained.accuracies[-1]:.3f}", (len(trained.losses), trained.accuracies[-1]), (-4, -14),
                   textcoords="offset points", ha="right", color=ACCURACY)
    for axes in (upper, lower):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, linewidth=0.6)
    figure.suptitle(f"trained in {trained.seconds:.1f} s", fontsize=10)


def draw_digits(figure: Any, guesses: np.ndarray, images: np.ndarray, labels: np.ndarray, wrong: np.ndarray) -> None:
    """A grid of digits with the guess below each."""
    right = np.setdiff1d(np.arange(len(labels)), wrong)
    shown = [*wrong[:2 * COLS], *right][:ROWS * COLS]
    for axes, index in zip(figure.subplots(ROWS, COLS).flat, shown):
        is_wrong = guesses[index] != labels[index]
        axes.imshow(images[index], cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        axes.set_xlabel(f"{guesses[index]}, is {labels[index]}" if is_wrong else str(guesses[index]),
                        color=WRONG if is_wrong else INK, labelpad=2)
        for spine in axes.spines.values():
            spine.set(color=WRONG if is_wrong else "#dddddd", linewidth=2.2 if is_wrong else 0.8)

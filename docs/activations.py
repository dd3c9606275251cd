"""Draw docs/activations.png, each activation with its derivative: `python docs/activations.py`. Needs matplotlib."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

import lucid_nb as lnb
from lucid_nb.nn import functional as F

PLACE = Path(__file__).with_name("activations.png")
INK, FAINT, VALUE, SLOPE = "#222222", "#b8b8b8", "#2f6f8f", "#e08a4f"
SHOWN: dict[str, Callable[[Any], Any]] = {
    "relu": F.relu, "relu6": F.relu6, "leaky_relu (0.1)": lambda x: F.leaky_relu(x, 0.1),
    "prelu (0.25)": lambda x: F.prelu(x, [0.25]), "rrelu (eval)": F.rrelu, "threshold (1, -1)":
    lambda x: F.threshold(x, 1, -1), "elu": F.elu, "celu (0.5)": lambda x: F.celu(x, 0.5), "selu": F.selu,
    "softplus": F.softplus, "gelu": F.gelu, "gelu (tanh)": lambda x: F.gelu(x, "tanh"), "silu": F.silu, "mish": F.mish,
    "hardswish": F.hardswish, "sigmoid": F.sigmoid, "hardsigmoid": F.hardsigmoid, "logsigmoid": F.logsigmoid,
    "tanh": F.tanh, "hardtanh": F.hardtanh, "softsign": F.softsign, "tanhshrink": F.tanhshrink,
    "softshrink": F.softshrink, "hardshrink": F.hardshrink}
X = np.linspace(-4, 7, 1101)


def with_slope(function: Callable[[Any], Any]) -> tuple[np.ndarray, np.ndarray]:
    """Values and derivatives; where they jump, a gap instead of a line."""
    leaf = lnb.tensor(X, requires_grad=True)
    value = function(leaf)
    value.sum().backward()
    assert leaf.grad is not None
    return gapped(value.detach().numpy()), gapped(leaf.grad.numpy())


def gapped(y: np.ndarray) -> np.ndarray:
    """NaN behind each jump."""
    y = y.copy()
    y[1:][np.abs(np.diff(y)) > 0.05] = np.nan
    return y


def draw(axes: Any, name: str) -> None:
    """One activation."""
    value, slope = with_slope(SHOWN[name])
    for line in (axes.axhline, axes.axvline):
        line(0, color=FAINT, linewidth=0.6, zorder=0)
    axes.plot(X, slope, color=SLOPE, linewidth=1.3)
    axes.plot(X, value, color=VALUE, linewidth=1.8)
    axes.set_title(name, fontsize=9, loc="left", pad=3)
    axes.set(xlim=(-4, 4) if name != "relu6" else (-2, 8), ylim=(-2.2, 3.2) if name != "relu6" else (-1.5, 6.9))
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=7, labelcolor="#777777")
    axes.set(xticks=[*axes.get_xlim()], yticks=[-1, 0, 1, 2] if name != "relu6" else [0, 6])


def main() -> None:
    """Draw them all."""
    with matplotlib.rc_context({"font.size": 9, "text.color": INK, "axes.labelcolor": INK}):
        figure = Figure(figsize=(11, 7.4), facecolor="white", layout=ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06))
        for axes, name in zip(figure.subplots(4, 6).flat, SHOWN):
            draw(axes, name)
        lines = figure.axes[0].get_lines()
        figure.legend([lines[-1], lines[-2]], ["value", "derivative"], loc="outside lower center", ncols=2,
                      frameon=False)
        figure.savefig(PLACE, dpi=100)


if __name__ == "__main__":
    main()

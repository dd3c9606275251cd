"""Draw the figures of the guide to transforms: python docs/transforms.py writes docs/guide/{products,higher}.png."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

import lucid_nb as lnb

GUIDE = Path(__file__).parent / "guide"
INK, BLUE, RED, GREY = "#222222", "#1f6fb4", "#c0392b", "#b8bec4"
STYLE = {"font.size": 9, "axes.edgecolor": GREY, "axes.spines.top": False, "axes.spines.right": False,
         "text.color": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK, "figure.dpi": 110}


def polar(place: lnb.Tensor) -> lnb.Tensor:
    """Distance and angle as places of the plane."""
    return lnb.stack([place[0] * lnb.cos(place[1]), place[0] * lnb.sin(place[1])])


def arrow(axes: plt.Axes, start: np.ndarray, by: np.ndarray, colour: str, text: str, beside: tuple) -> None:
    """A vector with its name beside its head."""
    axes.annotate("", start + by, start, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.8})
    axes.text(*(start + by + beside), text, color=colour, ha="center", va="center")


def grid(axes: plt.Axes, through: bool) -> None:
    """Lines of equal distance and of equal angle, as they are or as places of the plane."""
    distances, angles = np.linspace(0.5, 2.5, 9), np.linspace(0, np.pi / 2, 9)
    dense = np.linspace(0, 1, 60)
    lines = [np.stack([np.full(60, d), dense * np.pi / 2]) for d in distances]
    lines += [np.stack([0.5 + 2 * dense, np.full(60, a)]) for a in angles]
    for line in lines:
        x, y = polar(lnb.asarray(line)).numpy() if through else line
        axes.plot(x, y, color=GREY, lw=0.6, zorder=0)


def products() -> None:
    """A tangent and a cotangent on both sides of polar coordinates."""
    place = np.array([1.75, 0.55])
    tangent, cotangent = np.array([0.1, 0.55]), np.array([0.55, -0.1])
    there, push = lnb.linearize(polar, place)
    (pulled,) = lnb.vjp(polar, place)[1](cotangent)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.3), layout="constrained")
    for axes, through, start in ((left, False, place), (right, True, there.numpy())):
        grid(axes, through)
        axes.plot(*start, "o", color=INK, ms=5)
    arrow(left, place, tangent, BLUE, "tangent", (0, 0.09))
    arrow(right, there.numpy(), push(tangent).numpy(), BLUE, "pushed: J t", (-0.1, 0.13))
    arrow(right, there.numpy(), cotangent, RED, "cotangent", (0.1, -0.14))
    arrow(left, place, pulled.numpy(), RED, "pulled: c J", (0.05, -0.09))
    left.set(xlabel="distance", ylabel="angle", title="arguments", ylim=(-0.55, 1.75), xlim=(0.4, 2.9))
    right.set(xlabel="x", ylabel="y", title="results", aspect="equal", xlim=(-0.2, 2.9), ylim=(-0.2, 2.6))
    figure.savefig(GUIDE / "products.png")
    plt.close(figure)


def higher() -> None:
    """tanh and its derivatives, each the elementwise gradient of the one before."""
    x = np.linspace(-4, 4, 401)
    figure, axes = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
    f = lnb.tanh
    for order, shade in enumerate(plt.get_cmap("viridis")(np.linspace(0, 0.88, 5))):
        name = ["tanh", "first", "second", "third", "fourth"][order]
        axes.plot(x, f(lnb.asarray(x)).numpy(), color=shade, lw=1.6, label=name)
        f = lnb.elementwise_grad(f)
    axes.axhline(0, color=GREY, lw=0.6, zorder=0)
    axes.set(xlabel="x", xlim=(-4, 4), title="tanh and its derivatives")
    axes.legend(frameon=False, ncols=1, loc="lower right")
    figure.savefig(GUIDE / "higher.png")
    plt.close(figure)


if __name__ == "__main__":
    mpl.use("Agg")
    plt.rcParams.update(STYLE)
    products()
    higher()

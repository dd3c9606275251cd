"""Matplotlib draws tensors as it draws arrays."""

import numpy as np
import pytest

import lucid_nb as lnb

figures, agg = [pytest.importorskip(f"matplotlib.{name}") for name in ("figure", "backends.backend_agg")]
GRID = np.random.default_rng(0).normal(size=(3, 4))
DRAWINGS = {
    "plot": lambda axes, t: axes.plot(t[0], t[1]), "scatter": lambda axes, t: axes.scatter(t[0], t[1], c=t[2]),
    "hist": lambda axes, t: axes.hist(t.reshape(-1)), "imshow": lambda axes, t: axes.imshow(t),
    "bar": lambda axes, t: axes.bar(t[0], t[1]), "errorbar": lambda axes, t: axes.errorbar(t[0], t[1], yerr=abs(t[2])),
    "fill_between": lambda axes, t: axes.fill_between(t[0], t[1]), "contour": lambda axes, t: axes.contour(t),
    "pcolormesh": lambda axes, t: axes.pcolormesh(t), "boxplot": lambda axes, t: axes.boxplot(t),
    "quiver": lambda axes, t: axes.quiver(t, t), "stem": lambda axes, t: axes.stem(t[0]),
    "step": lambda axes, t: axes.step(t[0], t[1]), "hexbin": lambda axes, t: axes.hexbin(t[0], t[1]),
}


def picture(drawing, data):
    """The pixels that a drawing gives."""
    figure = figures.Figure(figsize=(1, 1), dpi=60)
    canvas = agg.FigureCanvasAgg(figure)
    drawing(figure.subplots(), data)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba()).copy()


@pytest.mark.parametrize("name", DRAWINGS)
def test_pictures_of_tensors_are_those_of_arrays(name):
    wanted = picture(DRAWINGS[name], GRID)
    assert wanted.std() > 0
    np.testing.assert_array_equal(picture(DRAWINGS[name], lnb.tensor(GRID)), wanted)

"""A drawing as a matplotlib figure."""

from typing import Any

from ..errors import BackendError
from .layout import Layout, Place
from .picture import FAMILIES, Box, Picture
from .style import FONT, LIGHT, LINE, MARGIN, PADDING, QUIET, SMALL, Sample, legend_of, width_around, words_of
from .svg import curve

POINT = 0.72                # points for a pixel of the layout, at 100 pixels an inch


def as_figure(picture: Picture, layout: Layout, title: str) -> Any:
    """A figure that is nobody's current one: nothing of pyplot is touched."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise BackendError("draw_graph: format='matplotlib' needs matplotlib. Install lucid_nb[plot], or use "
                           "format='svg'.") from None
    legend, words = legend_of(picture, layout.width), words_of(picture)
    width, rows = width_around(layout.width, title, legend, words), 1 + legend[-1].row
    top, foot = MARGIN + (2 * LINE if title else 0), LINE * (len(words) + rows + 2)
    height = top + layout.height + foot
    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=((layout.width - width) / 2, (layout.width + width) / 2), ylim=(layout.height + foot, -top))
    axes.set_axis_off()
    for route in layout.routes:
        _arrow(axes, route)
    for box, place in zip(picture.boxes, layout.places):
        _box(axes, box, place)
    if title:
        axes.text(layout.width / 2, -top + MARGIN, title, size=(FONT + 2) * POINT, ha="center", va="top", color=QUIET,
                  weight="bold", parse_math=False)
    left = (layout.width - width) / 2 + MARGIN
    for sample in legend:
        _sample(axes, sample, left, layout.height + LINE * (sample.row + 2))
    for number, line in enumerate(words):
        axes.text(left, layout.height + LINE * (number + rows + 2), line, size=SMALL * POINT, color=QUIET,
                  va="baseline", parse_math=False)
    return figure


def _arrow(axes: Any, route: list) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path
    points = [route[0]] + [point for step in curve(route) for point in step]
    path = Path(points, [Path.MOVETO] + [Path.CURVE4] * (len(points) - 1))
    axes.add_patch(FancyArrowPatch(path=path, arrowstyle="-|>,head_length=4,head_width=2", color=QUIET, lw=1.0,
                                   mutation_scale=1, shrinkA=0, shrinkB=0, capstyle="butt"))


def _box(axes: Any, box: Box, place: Place) -> None:
    from matplotlib.patches import FancyBboxPatch
    colours = LIGHT[box.family]
    radius = place.height / 2 if box.family in ("leaf", "constant") else 7
    inset = PADDING + (4 if radius > 7 else 0)
    left, top = place.x - place.width / 2, place.y - place.height / 2
    axes.add_patch(FancyBboxPatch(
        (left, top), place.width, place.height, boxstyle=f"round,pad=0,rounding_size={radius}", fc=colours.fill,
        ec=colours.edge, lw=2.2 if box.is_result else 0.9, ls="--" if box.family == "constant" else "-"))
    words = dict(color=colours.text, va="baseline", parse_math=False)
    axes.text(left + inset, top + 19.5, box.name, size=FONT * POINT, weight="bold", **words)
    axes.text(left + place.width - inset, top + 19.5, box.note, size=SMALL * POINT, ha="right", alpha=0.75, **words)
    axes.text(left + inset, top + 36, box.detail, size=SMALL * POINT, alpha=0.85, **words)


def _sample(axes: Any, sample: Sample, left: float, y: float) -> None:
    from matplotlib.patches import Rectangle
    colours, x = LIGHT[sample.family], left + sample.x
    axes.add_patch(Rectangle((x, y - 9), 12, 12, fc=colours.fill, ec=colours.edge, lw=0.9))
    axes.text(x + 18, y + 1, FAMILIES[sample.family], size=SMALL * POINT, color=QUIET, va="baseline", parse_math=False)

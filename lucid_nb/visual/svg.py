"""A drawing as the text of an SVG file."""

from collections.abc import Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from .layout import Layout, Place, Point
from .picture import FAMILIES, Box, Picture
from .style import (
    DARK,
    FONT,
    LIGHT,
    LINE,
    MARGIN,
    PADDING,
    QUIET,
    SMALL,
    Colours,
    legend_of,
    width_around,
    words_of,
)


class SVG(str):
    """The text of an SVG file, which notebooks show as the drawing."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def as_svg(picture: Picture, layout: Layout, title: str) -> SVG:
    """The text of the file."""
    top = MARGIN + (2 * LINE if title else 0)
    legend, words = legend_of(picture, layout.width), words_of(picture)
    width = width_around(layout.width, title, legend, words)
    left = (width - layout.width) / 2
    foot = top + layout.height + 2 * LINE
    rows = 1 + legend[-1].row
    height = foot + LINE * (rows + len(words)) + MARGIN - LINE / 2
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
             f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">', f"<title>{_safe(title or picture.summary)}</title>",
             _sheet(), _marker()]
    if title:
        parts.append(f'<text class="title" x="{width / 2:.1f}" y="{MARGIN + FONT:.1f}">{_safe(title)}</text>')
    parts.append(f'<g transform="translate({left:.1f} {top:.1f})">')
    parts += [_arrow(route, *arrow) for route, arrow in zip(layout.routes, picture.arrows)]
    parts += [_box(number, box, place) for number, (box, place) in enumerate(zip(picture.boxes, layout.places))]
    parts.append("</g>")
    parts += [_sample(sample.family, MARGIN + sample.x, foot + LINE * sample.row) for sample in legend]
    parts += [f'<text class="word" x="{MARGIN:.1f}" y="{foot + LINE * (rows + number):.1f}">{_safe(line)}</text>'
              for number, line in enumerate(words)]
    return SVG("\n".join([*parts, "</svg>", ""]))


def _safe(text: str) -> str:
    """A text as XML; what XML has no letter for becomes a question mark."""
    return escape("".join(c if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff" else "?"
                          for c in text))


# ------------------------------------------------------------------------------------------------------ parts
def _sheet() -> str:
    """The colours, for light and for dark surroundings."""
    def rules(colours: dict[str, Colours]) -> str:
        return "\n".join(f".{family} rect {{ fill: {c.fill}; stroke: {c.edge} }} .{family} text {{ fill: {c.text} }}"
                         for family, c in colours.items())
    return f"""<style>
svg {{ font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }}
text {{ font-size: {SMALL:g}px }}
rect {{ stroke-width: 1.2 }}
.name {{ font-size: {FONT:g}px; font-weight: 600 }}
.note {{ text-anchor: end; opacity: 0.75 }}
.detail {{ opacity: 0.85 }}
.constant rect {{ stroke-dasharray: 4 3 }}
.result rect {{ stroke-width: 3 }}
.arrow {{ fill: none; stroke: {QUIET}; stroke-width: 1.4 }}
.word, .title {{ fill: {QUIET} }}
.title {{ font-size: {FONT + 2:g}px; font-weight: 600; text-anchor: middle }}
{rules(LIGHT)}
@media (prefers-color-scheme: dark) {{
{rules(DARK)}
}}
</style>"""


def _marker() -> str:
    """The head of an arrow."""
    return (f'<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            f'orient="auto"><path d="M 0 0.8 L 7.2 4 L 0 7.2 z" fill="{QUIET}"/></marker></defs>')


def curve(points: Sequence[Point]) -> list[tuple[Point, Point, Point]]:
    """Cubic curves from each point to the next: two handles and an end. They leave and arrive upright."""
    found = []
    for (x, y), (to_x, to_y) in pairwise(points):
        bend = (to_y - y) * 0.55
        found.append(((x, y + bend), (to_x, to_y - bend), (to_x, to_y)))
    return found


def _arrow(route: Sequence[Point], source: int, target: int) -> str:
    (x, y), *_ = route
    steps = " ".join(f"C {a:.1f} {b:.1f} {c:.1f} {d:.1f} {e:.1f} {f:.1f}" for (a, b), (c, d), (e, f) in curve(route))
    return (f'<path class="arrow" data-from="{source}" data-to="{target}" d="M {x:.1f} {y:.1f} {steps}" '
            'marker-end="url(#head)"/>')


def _box(number: int, box: Box, place: Place) -> str:
    left, top = place.x - place.width / 2, place.y - place.height / 2
    kind = f"{box.family} result" if box.is_result else box.family
    radius = place.height / 2 if box.family in ("leaf", "constant") else 7
    inset = PADDING + (4 if radius > 7 else 0)
    return "\n".join([
        f'<g class="box {kind}" id="box{number}"><title>{_safe(box.tip)}</title>',
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{place.width:.1f}" height="{place.height:.1f}" rx="{radius:g}"/>',
        f'<text class="name" x="{left + inset:.1f}" y="{top + 19.5:.1f}">{_safe(box.name)}</text>',
        f'<text class="note" x="{left + place.width - inset:.1f}" y="{top + 19.5:.1f}">{_safe(box.note)}</text>',
        f'<text class="detail" x="{left + inset:.1f}" y="{top + 36:.1f}">{_safe(box.detail)}</text></g>'])


def _sample(family: str, x: float, y: float) -> str:
    return (f'<g class="{family}"><rect x="{x:.1f}" y="{y - 9:.1f}" width="12" height="12" rx="3"/></g>'
            f'<text class="word" x="{x + 18:.1f}" y="{y + 1:.1f}">{_safe(FAMILIES[family])}</text>')

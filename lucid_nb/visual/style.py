"""Colours and sizes of a drawing, the same in SVG and in matplotlib."""

from collections.abc import Sequence
from typing import NamedTuple

from .picture import FAMILIES, Box, Picture

FONT = 13.0                # of names, in pixels; what stands below and beside them is SMALL
SMALL = 11.0
PADDING, HEIGHT = 12.0, 46.0
MARGIN = 20.0
LINE = 18.0                # from one line of words to the next
QUIET = "#7d8590"          # of arrows and of what is said of the whole: seen on white and on black


class Colours(NamedTuple):
    """Of a box: fill, edge and words."""

    fill: str
    edge: str
    text: str


LIGHT = {"leaf": Colours("#fff4d6", "#d4a72c", "#4d3800"), "constant": Colours("#f6f8fa", "#afb8c1", "#424a53"),
         "product": Colours("#ddf0ff", "#54a3f7", "#0a3069"), "elementwise": Colours("#dcfbe3", "#4ac26b", "#044f1e"),
         "summary": Colours("#fbefff", "#b586ec", "#3e1f79"), "movement": Colours("#eef1f4", "#8c959f", "#32383f"),
         "chain": Colours("#ffeff7", "#e275ad", "#611347")}
DARK = {"leaf": Colours("#3a2d06", "#bb8009", "#f8e3a1"), "constant": Colours("#161b22", "#57606a", "#afb8c1"),
        "product": Colours("#0c2d4d", "#388bfd", "#cae8ff"), "elementwise": Colours("#0b3318", "#3fb950", "#aff5b4"),
        "summary": Colours("#2b1b52", "#a371f7", "#eddeff"), "movement": Colours("#21262d", "#6e7681", "#d0d7de"),
        "chain": Colours("#42062a", "#db61a2", "#ffdaec")}


def width_of(text: str, size: float, bold: bool = False) -> float:
    """About how wide a text is in a sans serif font; rather too wide than too narrow."""
    ems = sum(0.36 if c in "il,.()|: '" else 0.95 if c in "mwMW" else 0.62 for c in text)
    return ems * size * (1.08 if bold else 1)


def size_of(box: Box) -> tuple[float, float]:
    """The width and height of a box."""
    head = width_of(box.name, FONT, True) + 14 + width_of(box.note, SMALL)
    return max(head, width_of(box.detail, SMALL), 84.0) + 2 * PADDING, HEIGHT


# ------------------------------------------------------------------------------------------- around the drawing
class Sample(NamedTuple):
    """A colour of the legend: how far from the left, in which row, and how wide with its word."""

    family: str
    x: float
    row: int
    width: float


def legend_of(picture: Picture, width: float) -> list[Sample]:
    """The families that are there, in as many rows as they need."""
    found: list[Sample] = []
    x, row = 0.0, 0
    for family in FAMILIES:
        if any(box.family == family for box in picture.boxes):
            wide = 18 + width_of(FAMILIES[family], SMALL)
            if x and x + wide > max(width, 320):
                x, row = 0.0, row + 1
            found.append(Sample(family, x, row, wide))
            x += wide + 16
    return found


def words_of(picture: Picture) -> list[str]:
    """The lines at the foot."""
    return [line for line in (picture.summary, picture.remark) if line]


def width_around(width: float, title: str, legend: Sequence[Sample], words: Sequence[str]) -> float:
    """The width of the whole, margins and all, so that no word is cut."""
    needed = [width_of(line, SMALL) for line in words] + [sample.x + sample.width for sample in legend]
    return max(width, width_of(title, FONT + 2, True), *needed) + 2 * MARGIN

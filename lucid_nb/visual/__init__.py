"""Drawings of graphs: what a tensor was computed by, as SVG or as a matplotlib figure."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..array import Tensor
from ..errors import ConfigError, DTypeError, is_one_of
from ..shapes import as_integer
from .figure import as_figure
from .layout import layered
from .picture import Names, picture_of
from .style import size_of
from .svg import SVG, as_svg

__all__ = ["draw_graph"]
FORMATS = ("svg", "matplotlib")


def draw_graph(tensor: Tensor, path: str | os.PathLike | None = None, format: str | None = None, *,
               params: Names | None = None, title: str = "", max_nodes: int = 200) -> Any:
    """The graph that a tensor was computed by: a box for each recorded call and each leaf, arrows from its operands.

    A box tells the op, the bytes, shape and dtype of its result; leaves have the names that `params` gives them, as
    `module.named_parameters()` does or a dict. A result that nothing differentiates has no graph, and is one box.

    `format`: "svg" gives the text of an SVG file, readable on light and dark pages, as a string that notebooks show;
    "matplotlib" gives a figure. `path` is where to write it, whole or not at all: without `format`, ".svg" is SVG and
    every other suffix is left to matplotlib (".png", ".pdf", ...). Where there are more than `max_nodes` boxes, the
    longest chains of calls become one box each; if that is not enough, the earliest are left out; and the drawing says
    so. BackendError if matplotlib is needed and not there.

    >>> import lucid_nb as lnb
    >>> x = lnb.tensor([1.0, 2.0], requires_grad=True)
    >>> drawing = lnb.visual.draw_graph((x * x).sum(), params={"x": x})
    >>> drawing[:4], drawing.count('class="arrow"')
    ('<svg', 3)
    """
    if not isinstance(tensor, Tensor):
        raise DTypeError(f"draw_graph: got a {type(tensor).__name__}. Give the tensor whose graph is to be drawn.")
    suffix = "" if path is None else Path(path).suffix.lower()
    format = _format(format, suffix)
    most = as_integer("draw_graph", "max_nodes", max_nodes)
    if most < 1:
        raise ConfigError(f"draw_graph: max_nodes is {most}. Use 1 or more.")
    picture = picture_of(tensor, params or {}, most)
    layout = layered([size_of(box) for box in picture.boxes], picture.arrows)
    if format == "matplotlib":
        figure = as_figure(picture, layout, title)
        if path is not None:
            _check_kind(figure, suffix)
            _write(Path(path), lambda file: figure.savefig(file, format=suffix[1:] or None))
        return figure
    drawing: SVG = as_svg(picture, layout, title)
    if path is not None:
        _write(Path(path), lambda file: file.write(drawing.encode()))
    return drawing


def _format(format: str | None, suffix: str) -> str:
    """What is asked for, or what the suffix of a file says."""
    if format is None:
        return "svg" if suffix in ("", ".svg") else "matplotlib"
    if not is_one_of(format, FORMATS):
        raise ConfigError(f"draw_graph: format {format!r} is unknown. Use one of {', '.join(FORMATS)}.")
    return format


def _check_kind(figure: Any, suffix: str) -> None:
    """Refuse what matplotlib cannot write."""
    kinds = figure.canvas.get_supported_filetypes()
    if suffix and suffix[1:] not in kinds:
        raise ConfigError(f"draw_graph: no drawing can be written as {suffix!r}. Use .svg, or one of matplotlib's: "
                          f".{', .'.join(sorted(kinds))}.")


def _write(path: Path, write: Callable[[Any], Any]) -> None:
    """Write a file whole or not at all: what fails leaves what was there."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"draw_graph: the folder {str(path.parent)!r} is not there. Make it first.")
    beside = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with open(beside, "xb") as file:
            write(file)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise

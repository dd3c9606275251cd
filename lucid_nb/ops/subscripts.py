"""Subscripts of Einstein sums, as NumPy reads them: a string, or a list of labels after each operand."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..errors import DTypeError, ShapeError
from ..shapes import as_integer
from .contraction import Labels

Term = tuple[Any, ...]          # letters, and Ellipsis at most once
MOST_LABELS = 52


def read(op: str, given: Sequence[Any]) -> tuple[tuple[Term, ...], Term | None, list[Any]]:
    """The labels of each operand, those of the result where they are told, and the operands."""
    if not given:
        raise ShapeError(f"{op}: no subscripts. Give them as 'ij,jk->ik', and the operands after them.")
    if isinstance(given[0], str):
        terms, result = _read_text(op, given[0])
        values = list(given[1:])
    else:
        values, labels = list(given[:len(given) // 2 * 2:2]), given[1::2]
        terms = tuple([_read_list(op, sublist) for sublist in labels])
        result = _read_list(op, given[-1]) if len(given) % 2 else None
    if not values:
        raise ShapeError(f"{op}: no operands. Give them after the subscripts, or each before its list of axes.")
    if len(terms) != len(values):
        raise ShapeError(f"{op}: the subscripts name {len(terms)} operands, and {len(values)} are given. "
                         "Give one for each, between commas.")
    return terms, result, values


@lru_cache(1024)
def _read_text(op: str, text: str) -> tuple[tuple[Term, ...], Term | None]:
    left, arrow, right = text.replace(" ", "").partition("->")
    result = _read_term(op, text, right) if arrow else None
    return tuple([_read_term(op, text, term) for term in left.split(",")]), result


def _read_term(op: str, text: str, term: str) -> Term:
    before, dots, after = term.partition("...")
    for letter in before + after:
        if letter == ".":
            raise ShapeError(f"{op}: {text!r} has a '.' outside of an ellipsis. Write '...', once for an operand.")
        if not (letter.isascii() and letter.isalpha()):
            raise ShapeError(f"{op}: {letter!r} in {text!r} is no subscript. Use letters.")
    return (*before, ..., *after) if dots else (*before,)


def _read_list(op: str, sublist: Any) -> Term:
    if not isinstance(sublist, (list, tuple)):
        raise DTypeError(f"{op}: {sublist!r} is no list of subscripts. Give one after each operand, as [0, 1].")
    return tuple([Ellipsis if label is Ellipsis else _letter(op, label) for label in sublist])


def _letter(op: str, label: Any) -> str:
    """A to Z and a to z, whose order is that of the integers."""
    number = as_integer(op, "subscript", label)
    if not 0 <= number < MOST_LABELS:
        raise ShapeError(f"{op}: subscript {number} is out of range. Use 0 to {MOST_LABELS - 1}.")
    return chr(ord("A") + number if number < 26 else ord("a") + number - 26)


def resolved(op: str, terms: Sequence[Term], result: Term | None, ndims: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels with the axes of each ellipsis told: integers, counted from its end as broadcasting does."""
    hidden = [ndim - len(term) + 1 for term, ndim in zip(terms, ndims) if ... in term]
    for number, (term, ndim) in enumerate(zip(terms, ndims)):
        told = len(term) - (... in term)
        if told > ndim or (told < ndim and ... not in term):
            raise ShapeError(f"{op}: operand {number} has {ndim} axes, and {told} subscripts {_shown(term)}. "
                             + ("Leave some out." if told > ndim else "Name every axis, or add '...'."))
    inputs = [_filled(term, ndim - len(term) + 1) for term, ndim in zip(terms, ndims)]
    widest = max(hidden, default=0)
    if result is None:
        letters = [label for labels in inputs for label in labels if isinstance(label, str)]
        return inputs, (*range(-widest, 0), *sorted(label for label in letters if letters.count(label) == 1))
    if widest and ... not in result:
        raise ShapeError(f"{op}: the result {_shown(result)} does not name the {widest} axes of '...'. Add '...'.")
    output = _filled(result, widest)
    for label in output:
        if output.count(label) > 1 or not any(label in labels for labels in inputs):
            raise ShapeError(f"{op}: the result {_shown(result)} names {label!r} "
                             + ("twice." if output.count(label) > 1 else "that no operand has.") + " Leave it out.")
    return inputs, output


def _filled(term: Term, count: int) -> Labels:
    return tuple([label for part in term for label in (range(-count, 0) if part is ... else (part,))])


def _shown(term: Term) -> str:
    return repr("".join("..." if label is ... else label for label in term))

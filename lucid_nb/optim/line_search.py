"""A step length along a direction that lowers a function enough, and its slope enough."""

from collections.abc import Callable
from typing import Any, NamedTuple

ENOUGH, FLAT = 1e-4, 0.9         # the constants of Wolfe's conditions: of the value, of the slope


class Point(NamedTuple):
    """What is known of a place along the direction."""

    place: float
    value: float
    slope: float
    gradient: Any


def strong_wolfe(evaluate: Callable[[float], Point], start: Point, first: float, shortest: float,
                 limit: int) -> tuple[Point, int]:
    """A point beyond `start` that fulfils Wolfe's strong conditions, `first` being tried first, and the evaluations.

    After `limit` further evaluations, or when the bracket is narrower than `shortest`, the lower end of it is given. As
    in PyTorch the lower end is the one of the lesser value, even where that is lowered less than the slope promised.

    Source: J. Nocedal, S. Wright, Numerical optimization, 2006, algorithms 3.5 and 3.6.
    """
    ends, found, trials = _bracket(evaluate, start, first, limit)
    if found is not None:
        return found, trials + 1
    low, stalls = int(not ends[0].value <= ends[1].value), False
    while trials < limit and abs(ends[1].place - ends[0].place) >= shortest:
        place, stalls = _inside(ends, stalls)
        point, trials = evaluate(place), trials + 1
        if _is_too_high(point, start) or point.value >= ends[low].value:
            ends[1 - low] = point
            low = int(not ends[0].value <= ends[1].value)
            continue
        if abs(point.slope) <= -FLAT * start.slope:
            return point, trials + 1
        if point.slope * (ends[1 - low].place - ends[low].place) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = point
    return ends[low], trials + 1


def _bracket(evaluate: Callable[[float], Point], start: Point, first: float,
             limit: int) -> tuple[list[Point], Point | None, int]:
    """Two points around one that fulfils the conditions, or that one itself, and the evaluations after the first."""
    before, point = start, evaluate(first)
    for trials in range(limit):
        if _is_too_high(point, start) or (trials > 1 and point.value >= before.value):
            return [before, point], None, trials
        if abs(point.slope) <= -FLAT * start.slope:
            return [], point, trials
        if point.slope >= 0:
            return [before, point], None, trials
        bounds = point.place + 0.01 * (point.place - before.place), 10 * point.place
        before, point = point, evaluate(cubic_minimum(before, point, bounds))
    return [start, point], None, limit


def _is_too_high(point: Point, start: Point) -> bool:
    """Is the value not lowered by a small part of what the slope promises?"""
    return point.value > start.value + ENOUGH * point.place * start.slope


def _inside(ends: list[Point], stalls: bool) -> tuple[float, bool]:
    """A place within the bracket, and whether it lies so near to an end that the next one must not."""
    (one, two), (near, far) = ends, sorted(end.place for end in ends)
    place, margin = cubic_minimum(one, two, (near, far)), 0.1 * (far - near)
    if min(far - place, place - near) >= margin:
        return place, False
    if not stalls and near < place < far:
        return place, True
    return (far - margin if abs(place - far) < abs(place - near) else near + margin), False


def cubic_minimum(one: Point, two: Point, bounds: tuple[float, float]) -> float:
    """Where the cubic through two points with their slopes is least, within bounds; their middle where it is nowhere.

    Source: J. Nocedal, S. Wright, Numerical optimization, 2006, equation 3.59.

    >>> one, two = Point(0.0, 1.0, -2.0, None), Point(3.0, 4.0, 4.0, None)      # of (x - 1)**2
    >>> cubic_minimum(one, two, (0.0, 3.0))
    1.0
    """
    left, right = (one, two) if one.place <= two.place else (two, one)
    mean = left.slope + right.slope - 3 * (left.value - right.value) / (left.place - right.place)
    square = mean * mean - left.slope * right.slope
    if not square >= 0:
        return sum(bounds) / 2
    root = square ** 0.5
    share = (right.slope + root - mean) / (right.slope - left.slope + 2 * root)
    return min(max(right.place - (right.place - left.place) * share, bounds[0]), bounds[1])

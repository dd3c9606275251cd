"""Where the boxes of a graph stand and how its arrows run: layers, their order, coordinates.

After K. Sugiyama, S. Tagawa and M. Toda (IEEE SMC 11, 1981): layers by longest paths, long arrows led through every
layer that they cross, few crossings by barycentres. Coordinates are least squares with the boxes kept apart.
"""

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

Point = tuple[float, float]
GAP, BETWEEN, LANE = 22.0, 40.0, 14.0       # between boxes of a layer, between layers, for an arrow that passes
SWEEPS = 12
STIFF, LIGHT = 6.0, 1e-3                    # how much an arrow that passes, and a leaf, weigh beside a call


class Place(NamedTuple):
    """A box: the middle, and its sizes."""

    x: float
    y: float
    width: float
    height: float


class Layout(NamedTuple):
    """The boxes, for each arrow the points that it goes through, the last two by its head, and the whole size."""

    places: list[Place]
    routes: list[list[Point]]
    width: float
    height: float


def layered(sizes: Sequence[Point], arrows: Sequence[tuple[int, int]]) -> Layout:
    """The layout of boxes of these sizes; an arrow goes from a box to a later one."""
    level = levels(len(sizes), arrows)
    lanes = _Lanes(sizes, arrows, level)
    order = _ordered(lanes)
    xs = _coordinates(lanes, order)
    heights = [max((sizes[v][1] for v in row if v < len(sizes)), default=0.0) for row in order]
    tops, y = [], 0.0
    for height in heights:
        tops.append(y)
        y += height + BETWEEN
    places = [Place(xs[v], tops[level[v]] + heights[level[v]] / 2, *sizes[v]) for v in range(len(sizes))]
    routes = [_route(chain, xs, places, tops, heights, level) for chain in lanes.chains]
    _spread_ends(places, arrows, routes)
    right = max([place.x + place.width / 2 for place in places] + [x for route in routes for x, _ in route], default=0)
    return Layout(places, routes, right, max(y - BETWEEN, 0.0))


# --------------------------------------------------------------------------------------------------- layers
def levels(count: int, arrows: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each box: behind all that lead to it; what is made of leaves alone, just before it is needed."""
    level = [0] * count
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for source, target in sorted(arrows, key=lambda arrow: arrow[1]):
        level[target] = max(level[target], level[source] + 1)
        above[target].append(source)
        below[source].append(target)
    is_own: list[bool] = []                     # does nothing else read what it is made of?
    for box in range(count):
        is_own.append(all(is_own[source] and len(below[source]) == 1 for source in above[box]))
    for box in reversed(range(count)):
        if below[box] and is_own[box]:
            level[box] = min(level[reader] for reader in below[box]) - 1
    return level


class _Lanes:
    """The graph with a lane, a narrow box of its own, for each layer that an arrow passes."""

    def __init__(self, sizes: Sequence[Point], arrows: Sequence[tuple[int, int]], level: Sequence[int]) -> None:
        self.count, self.level, self.widths = len(sizes), list(level), [width for width, _ in sizes]
        self.chains: list[list[int]] = []
        for source, target in arrows:
            middle = range(len(self.level), len(self.level) + level[target] - level[source] - 1)
            self.level += [level[source] + 1 + i for i in range(len(middle))]
            self.widths += [LANE] * len(middle)
            self.chains.append([source, *middle, target])
        self.above: list[list[int]] = [[] for _ in self.level]
        self.below: list[list[int]] = [[] for _ in self.level]
        for chain in self.chains:
            for one, other in pairwise(chain):
                self.below[one].append(other)
                self.above[other].append(one)

    def weight(self, v: int) -> float:
        """How little a box or lane gives way."""
        return STIFF if v >= self.count else 1.0 if self.above[v] else LIGHT

    def apart(self, left: int, right: int) -> float:
        """From middle to middle of what stands side by side, at least."""
        gap = GAP if left < self.count or right < self.count else 0.0
        return (self.widths[left] + self.widths[right]) / 2 + gap


# ---------------------------------------------------------------------------------------------------- order
def _ordered(lanes: _Lanes) -> list[list[int]]:
    """Each layer from left to right, with as few crossings as sweeps down and up find."""
    best = rows = _first_order(lanes)
    fewest = _crossings(lanes, rows)
    for sweep in range(SWEEPS):
        rows = _swept(lanes, rows, down=sweep % 2 == 0)
        found = _crossings(lanes, rows)
        if found < fewest:
            best, fewest = rows, found
    return best


def _first_order(lanes: _Lanes) -> list[list[int]]:
    """As a walk back from the ends meets them, each box after its operands."""
    rows: list[list[int]] = [[] for _ in range(max(lanes.level, default=-1) + 1)]
    seen = set()
    stack = [v for v in reversed(range(len(lanes.level))) if not lanes.below[v]]
    while stack:
        v = stack.pop()
        if v not in seen:
            seen.add(v)
            rows[lanes.level[v]].append(v)
            stack += reversed(lanes.above[v])
    return rows


def _swept(lanes: _Lanes, rows: list[list[int]], down: bool) -> list[list[int]]:
    """Each layer sorted by the mean place of its neighbours in the one before."""
    rows = [list(row) for row in rows]
    near = lanes.above if down else lanes.below
    place = {v: i for row in rows for i, v in enumerate(row)}
    for row in rows if down else reversed(rows):
        row.sort(key=lambda v: sum(place[n] for n in near[v]) / len(near[v]) if near[v] else place[v])
        place |= {v: i for i, v in enumerate(row)}
    return rows


def _crossings(lanes: _Lanes, rows: list[list[int]]) -> int:
    """How many pairs of arrows cross."""
    total = 0
    for row, after in pairwise(rows):
        place = {v: i for i, v in enumerate(after)}
        ends = [sorted(place[n] for n in lanes.below[v]) for v in row]
        flat = [end for group in ends for end in group]
        total += sum(1 for i, end in enumerate(flat) for other in flat[i + 1:] if other < end)
    return total


# ---------------------------------------------------------------------------------------------- coordinates
def _coordinates(lanes: _Lanes, rows: list[list[int]]) -> list[float]:
    """The middle of each box and lane: near its neighbours, no two in each other's way, the least left edge at 0."""
    xs = [0.0] * len(lanes.level)
    for row in rows:
        _settle(lanes, row, xs, [0.0] * len(row))
    for sweep in range(2 * SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            _settle(lanes, row, xs, [_pulled(lanes, v, lanes.above[v] if down else lanes.below[v], xs) for v in row])
    for row in rows:
        _settle(lanes, row, xs, [_pulled(lanes, v, [*lanes.above[v], *lanes.below[v]], xs) for v in row])
    _straighten(lanes, rows, xs)
    left = min((x - width / 2 for x, width in zip(xs, lanes.widths)), default=0.0)
    return [x - left for x in xs]


def _pulled(lanes: _Lanes, v: int, near: Sequence[int], xs: Sequence[float]) -> float:
    """Where its neighbours would have a box; leaves have little to say, so that calls stand below each other."""
    weights = [lanes.weight(n) for n in near]
    return sum(xs[n] * weight for n, weight in zip(near, weights)) / sum(weights) if near else xs[v]


def _straighten(lanes: _Lanes, rows: list[list[int]], xs: list[float]) -> None:
    """Lanes of one arrow stand below each other as far as what is beside them lets them."""
    place = {v: (row, i) for row in rows for i, v in enumerate(row)}
    for chain in lanes.chains:
        run: list[int] = []
        low, high = -math.inf, math.inf
        for lane in [*chain[1:-1], None]:
            left, right = _room(lanes, *place[lane], xs) if lane is not None else (math.inf, -math.inf)
            if max(low, left) > min(high, right):
                for v in run:
                    xs[v] = min(max(sum(xs[u] for u in run) / len(run), low), high)
                run, low, high = [], left, right
            else:
                low, high = max(low, left), min(high, right)
            run += [] if lane is None else [lane]


def _room(lanes: _Lanes, row: list[int], i: int, xs: Sequence[float]) -> tuple[float, float]:
    """From where to where a lane can be moved between its neighbours."""
    left = xs[row[i - 1]] + lanes.apart(row[i - 1], row[i]) if i else -math.inf
    right = xs[row[i + 1]] - lanes.apart(row[i], row[i + 1]) if i + 1 < len(row) else math.inf
    return left, right


def _settle(lanes: _Lanes, row: list[int], xs: list[float], wished: list[float]) -> None:
    """The places of a layer nearest to what is wished, with the boxes apart, by pooling those that are in the way."""
    offsets = list(accumulate([lanes.apart(*pair) for pair in pairwise(row)], initial=0.0))
    pools: list[tuple[float, float, int]] = []          # mean, weight, how many
    for v, wish, offset in zip(row, wished, offsets):
        mean, weight, size = wish - offset, lanes.weight(v), 1
        while pools and pools[-1][0] >= mean:
            other, heavy, more = pools.pop()
            mean, weight, size = (mean * weight + other * heavy) / (weight + heavy), weight + heavy, size + more
        pools.append((mean, weight, size))
    means = [mean for mean, _, size in pools for _ in range(size)]
    for v, mean, offset in zip(row, means, offsets):
        xs[v] = mean + offset


# ---------------------------------------------------------------------------------------------------- arrows
def _route(chain: list[int], xs: list[float], places: list[Place], tops: list[float], heights: list[float],
           level: Sequence[int]) -> list[Point]:
    """From under the first box to over the last; straight down through the layers between."""
    first, last = places[chain[0]], places[chain[-1]]
    points = [(first.x, first.y + first.height / 2)]
    for number, lane in enumerate(chain[1:-1], level[chain[0]] + 1):
        points += [(xs[lane], tops[number]), (xs[lane], tops[number] + heights[number])]
    return [*points, (last.x, last.y - last.height / 2)]


def _spread_ends(places: list[Place], arrows: Sequence[tuple[int, int]], routes: list[list[Point]]) -> None:
    """Arrows into one box end side by side, in the order in which they come."""
    into: dict[int, list[int]] = {}
    for number, (_, target) in enumerate(arrows):
        into.setdefault(target, []).append(number)
    for target, numbers in into.items():
        numbers.sort(key=lambda number: (routes[number][-2][0], number))
        step = min(26.0, (places[target].width - 24) / max(len(numbers), 1))
        for i, number in enumerate(numbers):
            x, y = routes[number][-1]
            routes[number][-1] = (x + (i - (len(numbers) - 1) / 2) * step, y)

"""The trade-off plot: what a system wins on exclusions against what it keeps of ordinary retrieval.

It is SVG of our own, drawn by a template, and not matplotlib's: it takes its colours from the page's style sheet, so
that it follows the page between light and dark, and its labels stay text that can be selected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, NamedTuple

from excise.evaluation.report.runs import EvaluatedRun
from excise.evaluation.report.tables import systems_of

_WIDTH, _HEIGHT = 860, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, _WIDTH - 24, 20, _HEIGHT - 56
_LETTER, _LINE = 6.6, 15  # about the size of a letter of the labels
# Where a label may stand, from its point: (dx, dy, anchor); the first that is free is taken.
_SEATS = ((10, 4, "start"), (-10, 4, "end"), (0, -11, "middle"), (0, 20, "middle"), (10, -9, "start"),
          (10, 17, "start"), (-10, -9, "end"), (-10, 17, "end"), (12, -22, "start"), (12, 30, "start"))  # fmt: skip

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Point:
    """A system: mean ordinary nDCG@10, mean exclusion success@10, and whether it was measured on every suite."""

    system: str
    ordinary: float
    exclusion: float
    whole: bool
    baseline: bool


class Tick(NamedTuple):
    """A number on an axis, and where it stands."""

    place: float
    text: str


class Seat(NamedTuple):
    """Where a label stands, and which end of it."""

    x: float
    y: float
    anchor: str


class Dot(NamedTuple):
    """A system as it is drawn; ``whole`` where it was measured on every suite."""

    system: str
    x: float
    y: float
    kind: Literal["base", "ours", "other"]
    whole: bool
    title: str
    seat: Seat


@dataclass(frozen=True)
class Tradeoff:
    """What is drawn, in the plot's own units; ``left_out`` says in a sentence why nothing is."""

    left_out: str = ""
    across: Sequence[Tick] = ()
    up: Sequence[Tick] = ()
    frontier: Sequence[tuple[float, float]] = ()
    dots: Sequence[Dot] = ()
    caption: str = ""
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT
    right: int = _RIGHT
    top: int = _TOP
    bottom: int = _BOTTOM


def tradeoff(runs: Sequence[EvaluatedRun]) -> Tradeoff:
    """The plot, or a sentence where one of its axes has no data."""
    exclusion = [run for run in runs if run.kind == "exclusion"]
    ordinary = [run for run in runs if run.kind == "ordinary"]
    lacking = "exclusions" if not exclusion else "ordinary retrieval (suites without excluded documents)"
    if not exclusion or not ordinary:
        return Tradeoff(f"The plot is left out: no run among these measures {lacking}.")
    points = _points(exclusion, ordinary)
    if not points:
        return Tradeoff("The plot is left out: no system was run on both kinds of suite.")
    caption = (
        f"Up: mean success@10 over {_listed(exclusion)}. Right: mean nDCG@10 over {_listed(ordinary)}. "
        "The line joins the systems that no other beats on both."
    )
    if not all(point.whole for point in points):
        caption += " Hollow: not run on every one of these suites, so its place is not comparable."
    return _placed(points, caption)


def _points(exclusion: Sequence[EvaluatedRun], ordinary: Sequence[EvaluatedRun]) -> list[Point]:
    points = []
    baselines = {run.baseline for run in (*exclusion, *ordinary)}
    for name in systems_of([*exclusion, *ordinary]):
        up = [run.systems[name]["success@10"] for run in exclusion if "success@10" in run.systems.get(name, {})]
        right = [run.systems[name]["ndcg@10"] for run in ordinary if "ndcg@10" in run.systems.get(name, {})]
        if up and right:
            whole = len(up) == len(exclusion) and len(right) == len(ordinary)
            points.append(Point(name, fmean(right), fmean(up), whole, name in baselines))
    return points


def _placed(points: Sequence[Point], caption: str) -> Tradeoff:
    across, up = ticks([point.ordinary for point in points]), ticks([point.exclusion for point in points])
    x, y = _scale(across, _LEFT, _RIGHT), _scale(up, _BOTTOM, _TOP)
    places = {point.system: (x(point.ordinary), y(point.exclusion)) for point in points}
    frontier = _frontier([point for point in points if point.whole])
    taken = [(left - 7, top - 7, left + 7, top + 7) for left, top in places.values()]
    return Tradeoff(
        across=[Tick(x(value), _number(value, across)) for value in across],
        up=[Tick(y(value), _number(value, up)) for value in up],
        frontier=[places[point.system] for point in frontier] if len(frontier) > 1 else [],
        dots=[_dot(point, *places[point.system], taken) for point in sorted(points, key=lambda one: -one.exclusion)],
        caption=caption,
    )


def _scale(ticks: Sequence[float], start: float, end: float) -> Callable[[float], float]:
    """From values to places, to a tenth of a unit."""
    return lambda value: round(start + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (end - start), 1)


def _dot(point: Point, x: float, y: float, taken: list[Box]) -> Dot:
    title = f"{point.system}: success@10 {point.exclusion:.3f}, nDCG@10 {point.ordinary:.3f}"
    kind: Literal["base", "ours", "other"] = (
        "base" if point.baseline else "ours" if point.system.startswith("excise") else "other"
    )
    return Dot(point.system, x, y, kind, point.whole, title, _seat(x, y, len(point.system) * _LETTER, taken))


def _seat(x: float, y: float, width: float, taken: list[Box]) -> Seat:
    """Where the label meets no other label and no point; on the right where every place is taken."""
    for dx, dy, anchor in _SEATS:
        start = x + dx - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        box = (start, y + dy - _LINE + 3, start + width, y + dy + 3)
        if box[0] < _LEFT or box[2] > _WIDTH - 4 or box[1] < 0 or box[3] > _BOTTOM:
            continue
        if not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            taken.append(box)
            return Seat(round(x + dx, 1), round(y + dy, 1), anchor)
    dx, dy, anchor = _SEATS[0]
    return Seat(round(x + dx, 1), round(y + dy, 1), anchor)


def _frontier(points: Sequence[Point]) -> list[Point]:
    """The systems that no other beats on both axes, from left to right."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda one: (-one.ordinary, -one.exclusion)):
        if not kept or point.exclusion > kept[-1].exclusion:
            kept.append(point)
    return kept[::-1]


def ticks(values: Sequence[float]) -> list[float]:
    """Round numbers that hold all values, about five of them.

    Examples
    --------
    >>> ticks([0.06, 0.91])
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks([0.5])
    [0.49, 0.5, 0.51]
    """
    low, high = min(values), max(values)
    margin = max((high - low) * 0.06, 0.002)
    low, high = low - margin, high + margin
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((power * factor for factor in (1, 2, 5) if power * factor >= rough), power * 10)
    step = max(step, 0.01)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if min(values) >= 0:
        first = max(first, 0)
    return [round(number * step, 6) for number in range(first, last + 1)]


def _number(value: float, among: Sequence[float]) -> str:
    fine = any(abs(one * 10 - round(one * 10)) > 1e-6 for one in among)
    return f"{value:.2f}" if fine else f"{value:.1f}"


def _listed(runs: Sequence[EvaluatedRun]) -> str:
    return ", ".join(run.label for run in runs)

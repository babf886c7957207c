"""The trade-off plot: what a system wins on exclusions against what it keeps of ordinary retrieval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean

from excise.evaluation.report.runs import Run
from excise.evaluation.report.tables import systems_of

_WIDTH, _HEIGHT = 860, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 20, 56
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


def tradeoff(runs: Sequence[Run]) -> str:
    """The plot as SVG with a caption, or a sentence where one of its axes has no data."""
    exclusion = [run for run in runs if run.kind == "exclusion"]
    ordinary = [run for run in runs if run.kind == "ordinary"]
    lacking = "exclusions" if not exclusion else "ordinary retrieval (suites without excluded documents)"
    if not exclusion or not ordinary:
        return f'<p class="note">The plot is left out: no run among these measures {lacking}.</p>'
    points = _points(exclusion, ordinary)
    if not points:
        return '<p class="note">The plot is left out: no system was run on both kinds of suite.</p>'
    caption = (
        f"Up: mean success@10 over {_listed(exclusion)}. Right: mean nDCG@10 over {_listed(ordinary)}. "
        "The line joins the systems that no other beats on both."
    )
    if not all(point.whole for point in points):
        caption += " Hollow: not run on every one of these suites, so its place is not comparable."
    return f"<figure>{_svg(points)}<figcaption>{escape(caption)}</figcaption></figure>"


def _points(exclusion: Sequence[Run], ordinary: Sequence[Run]) -> list[Point]:
    points = []
    baselines = {run.baseline for run in (*exclusion, *ordinary)}
    for name in systems_of([*exclusion, *ordinary]):
        up = [run.systems[name]["success@10"] for run in exclusion if "success@10" in run.systems.get(name, {})]
        right = [run.systems[name]["ndcg@10"] for run in ordinary if "ndcg@10" in run.systems.get(name, {})]
        if up and right:
            whole = len(up) == len(exclusion) and len(right) == len(ordinary)
            points.append(Point(name, fmean(right), fmean(up), whole, name in baselines))
    return points


def _svg(points: Sequence[Point]) -> str:
    across, up = ticks([point.ordinary for point in points]), ticks([point.exclusion for point in points])

    def x(value: float) -> float:
        return _LEFT + (value - across[0]) / (across[-1] - across[0]) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - up[0]) / (up[-1] - up[0]) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [_axes([(x(value), _number(value, across)) for value in across], [(y(v), _number(v, up)) for v in up])]
    frontier = _frontier([point for point in points if point.whole])
    if len(frontier) > 1:
        line = " ".join(f"{x(point.ordinary):.1f},{y(point.exclusion):.1f}" for point in frontier)
        parts.append(f'<polyline class="frontier" points="{line}"/>')
    taken = [(x(one.ordinary) - 7, y(one.exclusion) - 7, x(one.ordinary) + 7, y(one.exclusion) + 7) for one in points]
    for point in sorted(points, key=lambda one: -one.exclusion):
        parts.append(_dot(point, x(point.ordinary), y(point.exclusion), taken))
    label = "trade-off between exclusion success and ordinary nDCG"
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _axes(across: Sequence[tuple[float, str]], up: Sequence[tuple[float, str]]) -> str:
    floor, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for place, text in across:
        parts.append(f'<line class="grid" x1="{place:.1f}" y1="{_TOP}" x2="{place:.1f}" y2="{floor}"/>')
        parts.append(f'<text class="tick" x="{place:.1f}" y="{floor + 18}" text-anchor="middle">{text}</text>')
    for place, text in up:
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{place:.1f}" x2="{right}" y2="{place:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 8}" y="{place + 4:.1f}" text-anchor="end">{text}</text>')
    middle, centre = (_LEFT + right) / 2, (_TOP + floor) / 2
    parts.append(f'<text class="axis" x="{middle}" y="{_HEIGHT - 12}" text-anchor="middle">ordinary nDCG@10</text>')
    parts.append(
        f'<text class="axis" transform="translate(16 {centre}) rotate(-90)" text-anchor="middle">'
        "exclusion success@10</text>"
    )
    return "".join(parts)


def _dot(point: Point, x: float, y: float, taken: list[Box]) -> str:
    name = escape(point.system)
    kind = "base" if point.baseline else "ours" if point.system.startswith("excise") else "other"
    hollow = "" if point.whole else " hollow"
    title = f"{name}: success@10 {point.exclusion:.3f}, nDCG@10 {point.ordinary:.3f}"
    dx, dy, anchor = _seat(x, y, len(point.system) * _LETTER, taken)
    return (
        f'<g class="dot {kind}{hollow}"><title>{title}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="5.5"/>'
        f'<text x="{x + dx:.1f}" y="{y + dy:.1f}" text-anchor="{anchor}">{name}</text></g>'
    )


def _seat(x: float, y: float, width: float, taken: list[Box]) -> tuple[float, float, str]:
    """Where the label meets no other label and no point; on the right where every place is taken."""
    for dx, dy, anchor in _SEATS:
        start = x + dx - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        box = (start, y + dy - _LINE + 3, start + width, y + dy + 3)
        if box[0] < _LEFT or box[2] > _WIDTH - 4 or box[1] < 0 or box[3] > _HEIGHT - _BOTTOM:
            continue
        if not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            taken.append(box)
            return dx, dy, anchor
    return _SEATS[0]


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


def _listed(runs: Sequence[Run]) -> str:
    return ", ".join(run.label for run in runs)

"""The noise test of Appendix B: which constants of a rule matter on training queries, and which do not.

Each constant is swept over its grid while the others stay. A constant is *inert* where success@10 varies by no more
than twice its binomial standard error, *active* where it varies by more, and *unexercised* where no value changes any
ranking. A sweep always has a best value; only an active constant gives a reason to take it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from excise.evaluation.systems.cases import Case
from excise.results import Topic
from excise.rules.coverage import Coverage, cover, lifted
from excise.rules.paper import Decision, demote
from excise.search.judging import asked_by_title, wanted_part
from excise.search.shortlist import evidence_of, maxsim_of, signals_of
from excise.settings import Settings

GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "coverage": {
        "evidence_floor": (0.2, 0.3, 0.4, 0.5, 0.6),
        "match_fraction": (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9),
        "opening_fraction": (0.7, 0.8, 0.85, 0.9, 0.95, 1.0),
        "opening_floor": (0.3, 0.4, 0.5, 0.6, 0.7),
        "lead": (1.0, 1.5, 2.0, 2.2, 2.4, 2.8, 3.2),
        "passing_fraction": (0.0, 0.3, 0.5, 0.7),
        "many": (1, 3, 5, 8),
        "asked_bonus": (0.0, 1.0, 2.0, 3.0),
    },
    "paper": {
        "evidence_floor": (0.2, 0.3, 0.35, 0.4, 0.5),
        "anomaly_width": (0.0, 0.25, 0.5, 1.0, 1.5, 2.0),
        "penalty_scale": (0.5, 0.97, 2.0, 5.0, 10.0),
        "removal_fraction": (0.5, 0.6, 0.7, 0.8, 0.9),
        "removal_cap": (1, 2, 3, 5, 10),
    },
}
_TOP = 10


@dataclass(frozen=True)
class Sweep:
    """One constant on one source of queries: success@10 at each value, its spread against its noise, the verdict."""

    source: str
    constant: str
    default: float
    success: dict[float, float]
    spread: float
    noise: float
    verdict: str

    def as_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return {**self.__dict__, "success": {f"{value:g}": rate for value, rate in self.success.items()}}


def prepared(
    case: Case, topics: Sequence[Topic], wanted: set[str], ruled_out: set[str], settings: Settings
) -> Callable[[Settings], tuple[bool, tuple[int, ...]]]:
    """A case with everything computed that the constants do not touch: constants in, success and ranking out."""
    shortlist, named = case.shortlist, case.named(topics)
    ids = [document.id for document in shortlist.documents]
    part = wanted_part(case.query.text, case.encoded, topics)
    scores = maxsim_of(part, shortlist.vectors) if settings.scoring == "masked" else shortlist.scores
    if settings.rule == "coverage" and settings.scoring == "masked":
        scores = case.collection.operator.judge.read_twice(case.query.text, topics, shortlist, scores)
    match = evidence_of(named, shortlist.vectors, settings.pooling)
    asked = asked_by_title(case.query.text, topics, shortlist)
    signals = replace(signals_of(named, part, shortlist.vectors, settings.pooling), asked=asked)

    def covered(constants: Coverage) -> Decision:
        return cover(lifted(scores, asked, constants) if settings.scoring == "masked" else scores, signals, constants)

    def outcome(changed: Settings) -> tuple[bool, tuple[int, ...]]:
        paper = changed.rule == "paper"
        decision = demote(scores, match, changed.constants) if paper else covered(changed.coverage)
        top = tuple(int(i) for i in decision.kept[:_TOP])
        found = {ids[i] for i in top}
        return bool(found & wanted) and not found & ruled_out, top

    return outcome


def sweep(
    source: str, outcomes: Sequence[Callable[[Settings], tuple[bool, tuple[int, ...]]]], settings: Settings
) -> list[Sweep]:
    """Sweep every constant of a rule over the cases of one source."""
    part = "coverage" if settings.rule == "coverage" else "constants"
    before = [outcome(settings) for outcome in outcomes]
    sweeps = []
    for constant, grid in GRIDS[settings.rule].items():
        default = getattr(getattr(settings, part), constant)
        success, moved = {}, False
        for value in sorted({*grid, default}):
            constants: Any = replace(getattr(settings, part), **{constant: value})
            after = [outcome(replace(settings, **{part: constants})) for outcome in outcomes]
            moved = moved or after != before
            success[value] = sum(right for right, _ in after) / len(after)
        sweeps.append(
            Sweep(source, constant, default, success, *_verdict(success, success[default], len(before), moved))
        )
    return sweeps


def _verdict(success: dict[float, float], rate: float, queries: int, moved: bool) -> tuple[float, float, str]:
    spread = max(success.values()) - min(success.values())
    noise = 2 * math.sqrt(max(rate * (1 - rate), 1e-9) / queries)
    return spread, noise, "unexercised" if not moved else "active" if spread > noise else "inert"


def plot(sweeps: Iterable[Sweep]) -> str:
    """Small curves of success@10, one for each constant and source, as one SVG; the dot is the value in use."""
    rows = list(sweeps)
    columns, width, height = 3, 280, 150
    cells = []
    for place, one in enumerate(rows):
        left, top = place % columns * width, place // columns * height
        cells.append(f'<g transform="translate({left},{top})">{_curve(one, width, height)}</g>')
    size = f"{columns * width} {math.ceil(len(rows) / columns) * height}"
    style = (
        "<style>text{font:11px sans-serif;fill:#444}path{fill:none;stroke:#2166ac;stroke-width:2}"
        "rect{fill:#2166ac;opacity:.12}circle{fill:#b2182b}"
        "@media(prefers-color-scheme:dark){text{fill:#ccc}path{stroke:#92c5de}rect{fill:#92c5de}}</style>"
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img">{style}{"".join(cells)}</svg>\n'


def _curve(one: Sweep, width: int, height: int) -> str:
    left, right, top, bottom = 36, 14, 34, 22
    values = list(one.success)

    def x(place: int) -> float:
        return left + place * (width - left - right) / max(1, len(values) - 1)

    def y(rate: float) -> float:
        return top + (1 - rate) * (height - top - bottom)

    line = "M" + "L".join(f"{x(i):.1f},{y(one.success[value]):.1f}" for i, value in enumerate(values))
    here = one.success[one.default]
    band_top, band_bottom = y(min(1.0, here + one.noise / 2)), y(max(0.0, here - one.noise / 2))
    ticks = "".join(
        f'<text x="{x(i):.1f}" y="{height - 6}" text-anchor="middle">{value:g}</text>' for i, value in enumerate(values)
    )
    return (
        f'<text x="{left}" y="14">{escape(f"{one.source}: {one.constant}, {one.verdict}")}</text>'
        f'<rect x="{left}" y="{band_top:.1f}" width="{width - left - right}" height="{band_bottom - band_top:.1f}"/>'
        f'<path d="{line}"/><circle cx="{x(values.index(one.default)):.1f}" cy="{y(here):.1f}" r="3.5"/>'
        f'<text x="4" y="{y(1) + 4:.1f}">1.0</text><text x="4" y="{y(0) + 4:.1f}">0.0</text>{ticks}'
    )

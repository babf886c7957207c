"""The funnel as a picture and as a page: how many records each gate leaves, by tier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from excise.xbench.cues import TIERS
from excise.xbench.gating import Funnel, Outcome
from excise.xbench.pages import filled

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _KEY = 900, 200, 110, 40, 34, 60
_COLOURS = {"T1": "#2459c4", "T2": "#b3541e", "T3": "#17713d"}


class BarPart(NamedTuple):
    """The records of one tier in a bar."""

    tier: str
    colour: str
    left: float
    width: float
    records: int


class FunnelBar(NamedTuple):
    """One bar of the picture: what is left, stacked by tier."""

    name: str
    top: int
    parts: tuple[BarPart, ...]
    end: float
    value: str


class LegendKey(NamedTuple):
    """A tier and its colour."""

    tier: str
    colour: str
    left: int


def funnel_svg(funnel: Funnel) -> str:
    """The picture: one bar for what was written and one for what is left after each gate, stacked by tier.

    Drawn here and not with matplotlib: the page colours the bars by their class, for light and for dark.

    Examples
    --------
    >>> from excise.xbench.gates import GATES
    >>> from excise.xbench.gating import GateCount
    >>> none, two = {"T1": 0, "T2": 0, "T3": 0}, {"T1": 2, "T2": 0, "T3": 0}
    >>> svg = funnel_svg(Funnel(two, two, (GateCount(GATES[0], two, none),), {}))
    >>> svg.count("<rect"), "round-trip" in svg
    (2, True)
    """
    rows = [("written", funnel.written), *((count.gate.name, count.left) for count in funnel.gates)]
    most = max(1, sum(funnel.written.values()))
    bars = [_bar(number, name, counts, most) for number, (name, counts) in enumerate(rows)]
    legend = [LegendKey(tier, _COLOURS[tier], _LEFT + number * _KEY) for number, tier in enumerate(TIERS)]
    height = _TOP + 10 + len(rows) * _ROW
    return filled("funnel.svg.j2", width=_WIDTH, height=height, left=_LEFT, legend=legend, bars=bars)


def _bar(number: int, name: str, counts: Mapping[str, int], most: int) -> FunnelBar:
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    parts, place = [], float(_LEFT)
    for tier in TIERS:
        width = counts[tier] * scale
        if counts[tier]:
            parts.append(BarPart(tier, _COLOURS[tier], place, width, counts[tier]))
        place += width
    total = sum(counts.values())
    value = f"{total:,} ({total / most:.0%})" if number else f"{total:,}"
    return FunnelBar(name, _TOP + number * _ROW, tuple(parts), place, value)


def funnel_page(funnel: Funnel, outcomes: Sequence[Outcome]) -> str:
    """The report on a run: the picture, the numbers, and every record that was dropped with its reasons."""
    from markupsafe import Markup

    return filled(
        "funnel.html.j2",
        title="X-Bench funnel",
        tiers=TIERS,
        written=sum(funnel.written.values()),
        admitted=sum(funnel.admitted.values()),
        funnel=funnel,
        picture=Markup(funnel_svg(funnel)),
        dropped=[outcome for outcome in outcomes if not outcome.admitted],
    )

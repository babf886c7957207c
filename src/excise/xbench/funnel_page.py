"""The funnel as a picture and as a page: how many records each gate leaves, by tier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from excise.xbench.cues import TIERS
from excise.xbench.page import page, table

_WIDTH, _LEFT, _RIGHT, _ROW, _BAR = 900, 200, 110, 34, 20
_COLOURS = {"T1": "#2459c4", "T2": "#b3541e", "T3": "#17713d"}


def funnel_svg(funnel: Mapping[str, Any]) -> str:
    """The picture: one bar for what was written and one for what is left after each gate, stacked by tier.

    Examples
    --------
    >>> none = {"T1": 2, "T2": 0, "T3": 0}
    >>> svg = funnel_svg({"written": none, "gates": [{"name": "round-trip", "left": none}]})
    >>> svg.count("<rect"), "round-trip" in svg
    (2, True)
    """
    rows = [("written", funnel["written"])] + [(gate["name"], gate["left"]) for gate in funnel["gates"]]
    most = max(1, sum(funnel["written"].values()))
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    parts = [_legend()]
    for number, (name, counts) in enumerate(rows):
        top = 40 + number * _ROW
        middle = top + _BAR / 2 + 4
        parts.append(f'<text class="label" x="{_LEFT - 10}" y="{middle}" text-anchor="end">{escape(name)}</text>')
        place = float(_LEFT)
        for tier in TIERS:
            width = counts[tier] * scale
            if counts[tier]:
                colour = f'class="tier-{tier}" fill="{_COLOURS[tier]}"'
                box = f'x="{place:.1f}" y="{top}" width="{width:.1f}" height="{_BAR}"'
                parts.append(f"<rect {colour} {box}><title>{tier}: {counts[tier]}</title></rect>")
            place += width
        total = sum(counts.values())
        share = f"{total:,} ({total / most:.0%})" if number else f"{total:,}"
        parts.append(f'<text class="value" x="{place + 8:.1f}" y="{middle}">{share}</text>')
    height = 50 + len(rows) * _ROW
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
    look = 'font-family="system-ui, sans-serif" font-size="13"'
    return f'{head} aria-label="records left after each gate" {look}>{"".join(parts)}</svg>'


def _legend() -> str:
    parts = []
    for number, tier in enumerate(TIERS):
        left = _LEFT + number * 60
        key = f'<circle class="tier-{tier}" fill="{_COLOURS[tier]}" cx="{left + 6}" cy="18" r="6"/>'
        parts.append(f'{key}<text class="label" x="{left + 17}" y="22">{tier}</text>')
    return "".join(parts)


def funnel_page(funnel: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> str:
    """The report on a run: the picture, the numbers, and every record that was dropped with its reasons.

    Parameters
    ----------
    funnel
        what :func:`excise.xbench.gating.funnel` returns.
    lines
        for every record: id, tier, query, and failures (code and detail).
    """
    written, admitted = sum(funnel["written"].values()), sum(funnel["admitted"].values())
    rows = [
        [gate["name"], gate["code"], gate["asks"], *_cells(gate["left"]), *_cells(gate["failed"])]
        for gate in funnel["gates"]
    ]
    tiers = [f"left {tier}" for tier in TIERS] + [f"failed {tier}" for tier in TIERS]
    body = [
        f'<section><h2>The funnel</h2><p class="lead">{written:,} records were written, <b>{admitted:,}</b> pass all '
        f"nine gates.</p><figure>{funnel_svg(funnel)}</figure></section>",
        f"<section><h2>Gate by gate</h2>{table(['gate', 'reason code', 'what it asks for', *tiers], rows)}</section>",
    ]
    if funnel["writing"]:
        before = [[reason, *_cells(counts)] for reason, counts in funnel["writing"].items()]
        body.append(f"<section><h2>Dropped while writing</h2>{table(['reason', *TIERS], before)}</section>")
    dropped = "".join(_dropped(line) for line in lines if line["failures"])
    if dropped:
        head = "<thead><tr><th>record</th><th class='words'>query</th><th class='words'>why</th></tr></thead>"
        rows_of = f"<table>{head}<tbody>{dropped}</tbody></table>"
        body.append(f'<section><h2>Dropped by the gates</h2><div class="scroll">{rows_of}</div></section>')
    return page("X-Bench funnel", "\n".join(body))


def _cells(counts: Mapping[str, int]) -> list[str]:
    return [f"{counts.get(tier, 0):,}" for tier in TIERS]


def _dropped(line: Mapping[str, Any]) -> str:
    why = "<br>".join(f"<code>{escape(f['code'])}</code> {escape(f['detail'])}" for f in line["failures"])
    query = escape(line["query"])
    return f'<tr><th>{escape(line["id"])}</th><td class="words">{query}</td><td class="words">{why}</td></tr>'

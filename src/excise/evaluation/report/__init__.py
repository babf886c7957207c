"""One HTML page from any number of runs: tables, the trade-off plot, and a browser of single queries.

The page needs nothing but itself: style, script, plot and data are inside it, and it forbids itself the network.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from excise import __version__
from excise.evaluation.report.browser import embed
from excise.evaluation.report.plot import tradeoff
from excise.evaluation.report.runs import Run, read_runs
from excise.evaluation.report.tables import collection, ladders, overview, systems_of, tiers

__all__ = ["render_report"]


def render_report(folders: Sequence[str | Path]) -> str:
    """The report on what ``excise eval`` and ``excise eval-pairs`` wrote, as one self-contained page.

    Parameters
    ----------
    folders
        output folders, each with ``metrics.json`` and, for the browser of queries, ``per_query.jsonl``.

    Raises
    ------
    InvalidInput
        where a folder does not hold what those commands write.
    """
    runs = read_runs(folders)
    embedded = embed(runs)
    script = _part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_part("page.html")).substitute(
        script_hash=digest,
        style=_part("page.css"),
        script=script,
        data=embedded.data,
        summary=_summary(runs),
        overview=overview(runs),
        ladder=_ladder(runs),
        plot=tradeoff(runs),
        collections="".join(_collection(run) for run in runs),
        notes="".join(f'<p class="note">{escape(note)}</p>' for note in embedded.notes),
        version=escape(__version__),
    )


def _part(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")


def _summary(runs: Sequence[Run]) -> str:
    systems, labels = len(systems_of(runs)), ", ".join(run.label for run in runs)
    return escape(f"{systems} {'system' if systems == 1 else 'systems'} on {labels}")


def _ladder(runs: Sequence[Run]) -> str:
    found = ladders(runs)
    if not found:
        return ""
    parts = [f"<h3>Topics: {escape(source)}</h3>{table}" if source else table for source, table in found]
    lead = "Each rung adds one stage to the rung above; the small number is the step from it."
    return f'<section id="ladder"><h2>The ladder</h2><p class="lead">{lead}</p>{"".join(parts)}</section>'


def _collection(run: Run) -> str:
    by_tier = tiers(run)
    tier_part = f'<div class="tiers"><h4>By tier</h4>{by_tier}</div>' if by_tier else ""
    config = escape(json.dumps(run.config, ensure_ascii=False, indent=2))
    how = f"<details><summary>How it was run</summary><pre>{config}</pre></details>" if run.config else ""
    return f"<article><h3>{escape(run.label)}</h3>{collection(run)}{tier_part}{how}</article>"

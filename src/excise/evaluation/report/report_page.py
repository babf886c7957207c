"""One HTML page from any number of runs: tables, the trade-off plot, and a browser of single queries.

The page needs nothing but itself: style, script, plot and data are inside it, and it forbids itself the network.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from excise import __version__
from excise.evaluation.report.browser import embed
from excise.evaluation.report.plot import tradeoff
from excise.evaluation.report.runs import EvaluatedRun, read_runs
from excise.evaluation.report.tables import Table, TierTable, every_metric, ladders, overview, systems_of, tier_tables
from excise.evaluation.report.templates import part, render, trusted


@dataclass(frozen=True)
class _Collection:
    """One run as the page shows it: every metric, tier by tier, and how it was run."""

    run: EvaluatedRun
    table: Table
    tiers: Sequence[TierTable]
    config: str


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
    script = part("page.js")
    return render(
        "page.html.j2",
        runs=runs,
        systems=len(systems_of(runs)),
        overview=overview(runs),
        ladders=ladders(runs),
        plot=tradeoff(runs),
        collections=[_collection(run) for run in runs],
        notes=embedded.notes,
        version=__version__,
        style=trusted(part("page.css")),
        script=trusted(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=trusted(embedded.data),  # made for a script element, and safe inside one
    )


def _collection(run: EvaluatedRun) -> _Collection:
    config = json.dumps(run.config, ensure_ascii=False, indent=2) if run.config else ""
    return _Collection(run, every_metric(run), tier_tables(run), config)

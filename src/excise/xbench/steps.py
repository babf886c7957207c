"""The steps of a build on a run folder: mine, write, judge, gate. The commands and ``build`` call these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from excise.documents import Corpus
from excise.extras import need
from excise.progress import Progress, silent
from excise.xbench.answers import Answers
from excise.xbench.bench_folder import BenchFolder
from excise.xbench.card import data_card
from excise.xbench.conversation import Channel, Exchange, converse
from excise.xbench.cues import TIERS
from excise.xbench.effort import Effort, run_effort
from excise.xbench.funnel_page import funnel_page, funnel_svg
from excise.xbench.gating import Funnel, GateSettings, apply_gates, funnel, read_outcomes
from excise.xbench.indexed_corpus import IndexedCorpus, check_places
from excise.xbench.mining import Band, Mined, MiningSettings, mine
from excise.xbench.run_settings import JudgeOptions, WriterOptions, merged
from excise.xbench.screening import Screening
from excise.xbench.storage import XBenchError, read_json, write_json, write_lines, write_text
from excise.xbench.suite_writer import Controls, SuiteCounts, exclusion_content, write_suite
from excise.xbench.verdicts import check_judge, plan_judging, read_verdicts
from excise.xbench.writing import plan_writing


@dataclass(frozen=True)
class MiningResult:
    """What mining a run gave."""

    run: Path
    mined: Mined

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return {"run": str(self.run), **self.mined.to_dict()}


@dataclass(frozen=True)
class WritingResult:
    """What writing gave so far: finished records, in all and by tier, what was dropped by reason and tier."""

    run: Path
    records: int
    by_tier: dict[str, int]
    dropped: dict[str, dict[str, int]]
    exchange: Exchange

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        counts = {"records": self.records, "by_tier": self.by_tier, "dropped": self.dropped}
        return {"run": str(self.run), **counts, **self.exchange.to_dict()}


@dataclass(frozen=True)
class JudgingResult:
    """What judging gave so far: how many of the records have all their verdicts."""

    run: Path
    records: int
    judged: int
    exchange: Exchange

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return {"run": str(self.run), "records": self.records, "judged": self.judged, **self.exchange.to_dict()}


@dataclass(frozen=True)
class GatingResult:
    """What the gates left: the suite, how many queries of each kind it has, and the funnel."""

    run: Path
    suite: Path
    split: str
    queries: SuiteCounts
    funnel: Funnel
    effort: Effort

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        places = {"run": str(self.run), "suite": str(self.suite), "split": self.split}
        return {**places, "queries": self.queries.to_dict(), **self.funnel.to_dict(), **self.effort.to_dict()}


def mine_run(
    folder: Path, settings: MiningSettings, overwrite: bool = False, progress: Progress = silent
) -> MiningResult:
    """Mine pairs into a run folder; a finished one of the same settings is left as it is."""
    check_places(settings)
    run = BenchFolder.start(folder, settings, overwrite)
    if run.path("pairs.jsonl").is_file() and run.mined is not None:
        return MiningResult(folder, run.mined)
    corpus = IndexedCorpus(run, progress)
    low, high = settings.band.edges(corpus.means, settings.seed)
    passed_over = corpus.passed_over(settings)
    pairs = mine(
        corpus.means,
        corpus.ids,
        Band(max(low, -1.0), high, absolute=True),
        settings.anchors,
        settings.negatives,
        settings.seed,
        np.array([id not in passed_over for id in corpus.ids], dtype=bool),
        progress,
    )
    if not pairs:
        raise XBenchError(
            f"no two documents lie in the band from {low:.3f} to {high:.3f}: widen it with --band, --quantiles or "
            "--loosen."
        )
    run.write_pairs(pairs)
    two = sum(len(pair.negatives) == 2 for pair in pairs)
    reasons = dict(sorted(Counter(passed_over.values()).items()))
    mined = Mined(len(corpus.ids), (round(low, 4), round(high, 4)), len(pairs), two, reasons)
    run.remember("mined", mined.to_dict())
    return MiningResult(folder, mined)


def write_run(folder: Path, given: Mapping[str, Any], channel: Channel, progress: Progress = silent) -> WritingResult:
    """Write queries as far as the channel goes, and put the finished records into the run.

    Parameters
    ----------
    given
        settings by name (:class:`excise.xbench.run_settings.WriterOptions`); those left out are as in the call before.
    """
    run = BenchFolder.open(folder)
    options = merged(WriterOptions, run.remembered("writer"), given, "writer")
    settings = options.settings()
    pairs, corpus = run.pairs(), run.mining.corpus
    documents = {document.id: document for document in Corpus([corpus])}
    absent = [id for pair in pairs for id in (pair.gold, *pair.negatives) if id not in documents]
    if absent:
        raise XBenchError(f"{corpus} no longer holds the document {absent[0]!r}: mine again.")
    run.remember("writer", options.to_dict())
    screen = Screening(lambda: IndexedCorpus(run, progress), options.gates())
    written, exchange = converse(
        lambda desk: plan_writing(pairs, documents, desk, settings, screen),
        Answers(run.path("answers")),
        channel,
        progress,
    )
    run.write_records(written.records)
    dropped = written.dropped_by_reason()
    write_json(run.path("written.json"), {"dropped": dropped, "waiting": written.waiting, "pending": exchange.pending})
    by_tier = {str(tier): sum(record.tier == tier for record in written.records) for tier in TIERS}
    return WritingResult(folder, len(written.records), by_tier, dropped, exchange)


def judge_run(
    folder: Path,
    given: Mapping[str, Any],
    channel: Channel,
    name: str | None = None,
    allow_writer: bool = False,
    progress: Progress = silent,
) -> JudgingResult:
    """Have the records judged as far as the channel goes.

    Parameters
    ----------
    given
        settings by name (:class:`excise.xbench.run_settings.JudgeOptions`); those left out are as in the call before.
    name
        keeps the verdicts of a further judge apart.
    allow_writer
        let the model judge that wrote.
    """
    run = BenchFolder.open(folder)
    records = run.records()
    if not records:
        raise XBenchError(f"{folder} holds no finished records: answer what 'excise xbench write' asks for first.")
    place = "judge" if name is None else f"judge-{name}"
    options = merged(JudgeOptions, run.remembered(place), given, "judge")
    settings = options.settings()
    check_judge(settings.judge.name, run.remembered("writer").get("model"), allow_writer)
    documents = {document.id: document for document in Corpus([run.mining.corpus])}
    run.remember(place, options.to_dict())
    verdicts, exchange = converse(
        lambda desk: plan_judging(records, documents, desk, settings),
        Answers(run.path("answers")),
        channel,
        progress,
    )
    write_lines(run.path(verdicts_name(name)), (verdict.to_dict() for verdict in verdicts))
    return JudgingResult(folder, len(records), len(verdicts), exchange)


def verdicts_name(name: str | None) -> str:
    """The file of a judge's verdicts.

    Examples
    --------
    >>> verdicts_name(None), verdicts_name("second")
    ('verdicts.jsonl', 'verdicts-second.jsonl')
    """
    if name is None:
        return "verdicts.jsonl"
    if not name.replace("-", "").replace("_", "").isalnum():
        raise XBenchError(f"a judge's name has letters, digits, - and _ only, got {name!r}.")
    return f"verdicts-{name}.jsonl"


def gate_run(
    folder: Path,
    suite: Path,
    settings: GateSettings,
    split: str = "test",
    controls: Controls | None = None,
    progress: Progress = silent,
) -> GatingResult:
    """Put the records through the gates, write the funnel, and write the suite of those that pass."""
    need("the suite of gates", "xbench", "bm25s", "jinja2")
    run = BenchFolder.open(folder)
    records = run.records()
    verdicts = read_verdicts(run.path("verdicts.jsonl")) if run.path("verdicts.jsonl").is_file() else {}
    unjudged = sum(record.id not in verdicts for record in records)
    if unjudged:
        raise XBenchError(
            f"{unjudged:,} of {len(records):,} records have no verdict yet: run 'excise xbench judge {folder}' to "
            "its end."
        )
    corpus = IndexedCorpus(run, progress)
    outcomes = apply_gates(records, verdicts, corpus, settings, progress)
    dropped = read_json(run.path("written.json"))["dropped"] if run.path("written.json").is_file() else {}
    counts = funnel(outcomes, dropped)
    effort = run_effort(run, sum(counts.admitted.values()))
    write_lines(run.path("gates.jsonl"), (outcome.to_dict() for outcome in outcomes))
    write_json(run.path("funnel.json"), {**counts.to_dict(), **effort.to_dict()})
    write_text(run.path("funnel.svg"), funnel_svg(counts))
    write_text(run.path("report.html"), funnel_page(counts, outcomes))
    admitted = [outcome.record for outcome in outcomes if outcome.admitted]
    card = data_card(suite.resolve().name, split, run, admitted, counts)
    size = write_suite(suite, exclusion_content(admitted, corpus.documents), split, controls or Controls(), card)
    return GatingResult(folder, suite, split, size, counts, effort)


@dataclass(frozen=True)
class FunnelResult:
    """What was dropped and why, as far as a run has come, and what was asked for it."""

    run: Path
    funnel: Funnel
    effort: Effort

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return {"run": str(self.run), **self.funnel.to_dict(), **self.effort.to_dict()}


def funnel_of_run(folder: Path) -> FunnelResult:
    """The funnel of a run; before the gates it has what writing dropped, and no gates."""
    run = BenchFolder.open(folder)
    dropped = read_json(run.path("written.json"))["dropped"] if run.path("written.json").is_file() else {}
    records = run.records() if run.path("records.jsonl").is_file() else []
    outcomes = read_outcomes(run.path("gates.jsonl"), records) if run.path("gates.jsonl").is_file() else []
    counts = funnel(outcomes, dropped)
    if not outcomes:
        written = {str(tier): sum(record.tier == tier for record in records) for tier in TIERS}
        counts = Funnel(written, dict.fromkeys(TIERS, 0), (), counts.writing)
    return FunnelResult(folder, counts, run_effort(run, sum(counts.admitted.values())))

"""The steps of a build on a run folder: mine, write, judge, gate. The commands and ``build`` call these."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from excise.documents import Corpus
from excise.progress import Progress, silent
from excise.xbench.answers import Answers
from excise.xbench.card import data_card
from excise.xbench.conversation import Channel, converse
from excise.xbench.funnel_page import funnel_page, funnel_svg
from excise.xbench.gating import GateSettings, apply_gates, funnel
from excise.xbench.indexed_corpus import IndexedCorpus, mining_settings
from excise.xbench.mining import MAX_NEGATIVES, Band, mine
from excise.xbench.run import Run
from excise.xbench.run_settings import judge_settings, stored_judge, stored_writing, writing_settings
from excise.xbench.storage import XBenchError, read_json, write_json, write_lines, write_text
from excise.xbench.suite_writer import Controls, exclusion_content, write_suite
from excise.xbench.verdicts import check_judge, plan_judging, read_verdicts, verdict_dict
from excise.xbench.writing import Written, plan_writing


@dataclass(frozen=True)
class MiningSettings:
    """What is mined, and from where; see :func:`excise.xbench.mining.mine`."""

    corpus: Path
    index: Path | None = None
    backbone: str | None = None
    band: Band = field(default_factory=Band)
    anchors: int | None = None
    negatives: int = MAX_NEGATIVES
    min_words: int = 20
    seed: int = 0


def mine_run(
    folder: Path, settings: MiningSettings, overwrite: bool = False, progress: Progress = silent
) -> dict[str, Any]:
    """Mine pairs into a run folder; a finished one of the same settings is left as it is."""
    config: dict[str, Any] = dict(mining_settings(settings.corpus, settings.index, settings.backbone))
    config |= {"band": asdict(settings.band), "anchors": settings.anchors, "negatives": settings.negatives}
    config |= {"min_words": settings.min_words, "seed": settings.seed}
    run = Run.start(folder, config, overwrite)
    if not run.path("pairs.jsonl").is_file() or "mined" not in run.config:
        corpus = IndexedCorpus(run, progress)
        edges = settings.band.edges(corpus.means, settings.seed)
        pairs = mine(
            corpus.means,
            corpus.ids,
            Band(max(edges[0], -1.0), edges[1], absolute=True),
            settings.anchors,
            settings.negatives,
            settings.seed,
            corpus.usable(settings.min_words),
            progress,
        )
        if not pairs:
            raise XBenchError(
                f"no two documents lie in the band from {edges[0]:.3f} to {edges[1]:.3f}: widen it with --band, "
                "--quantiles or --loosen."
            )
        run.write_pairs(pairs)
        mined = {"documents": len(corpus.ids), "edges": [round(edge, 4) for edge in edges]}
        run.remember("mined", mined | {"pairs": len(pairs), "two": sum(len(p.negatives) == 2 for p in pairs)})
    return {"run": str(folder), **run.config["mined"]}


def write_run(folder: Path, given: dict[str, Any], channel: Channel, progress: Progress = silent) -> dict[str, Any]:
    """Write queries as far as the channel goes, and put the finished records into the run.

    Parameters
    ----------
    given
        settings by name (:data:`excise.xbench.run_settings.WRITER`); those left out are as in the call before.
    """
    run = Run.open(folder)
    settings = writing_settings(run.config.get("writer", {}), given)
    pairs = run.pairs()
    documents = {document.id: document for document in Corpus([run.corpus])}
    absent = [id for pair in pairs for id in (pair.gold, *pair.negatives) if id not in documents]
    if absent:
        raise XBenchError(f"{run.corpus} no longer holds the document {absent[0]!r}: mine again.")
    run.remember("writer", stored_writing(settings))
    written, exchange = converse(
        lambda desk: plan_writing(pairs, documents, desk, settings), Answers(run.path("answers")), channel, progress
    )
    run.write_records(written.records)
    dropped = _nested(written)
    write_json(run.path("written.json"), {"dropped": dropped, "waiting": written.waiting, "pending": exchange.pending})
    tiers = {tier: sum(record.tier == tier for record in written.records) for tier in ("T1", "T2", "T3")}
    return {"run": str(folder), "records": len(written.records), "by_tier": tiers, "dropped": dropped, **vars(exchange)}


def judge_run(
    folder: Path,
    given: dict[str, Any],
    channel: Channel,
    name: str | None = None,
    allow_writer: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Have the records judged as far as the channel goes.

    Parameters
    ----------
    given
        settings by name (:data:`excise.xbench.run_settings.JUDGE`); those left out are as in the call before.
    name
        keeps the verdicts of a further judge apart.
    allow_writer
        let the model judge that wrote.
    """
    run = Run.open(folder)
    records = run.records()
    if not records:
        raise XBenchError(f"{folder} holds no finished records: answer what 'excise xbench write' asks for first.")
    place = "judge" if name is None else f"judge-{name}"
    judge, document_words = judge_settings(run.config.get(place, {}), given)
    check_judge(judge.name, run.config.get("writer", {}).get("model"), allow_writer)
    documents = {document.id: document for document in Corpus([run.corpus])}
    run.remember(place, stored_judge(judge, document_words))
    verdicts, exchange = converse(
        lambda desk: plan_judging(records, documents, desk, judge, document_words),
        Answers(run.path("answers")),
        channel,
        progress,
    )
    write_lines(run.path(verdicts_name(name)), (verdict_dict(verdict) for verdict in verdicts))
    return {"run": str(folder), "records": len(records), "judged": len(verdicts), **vars(exchange)}


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
) -> dict[str, Any]:
    """Put the records through the gates, write the funnel, and write the suite of those that pass."""
    run = Run.open(folder)
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
    lines = [{**outcome.to_dict(), "query": outcome.record.query} for outcome in outcomes]
    write_lines(run.path("gates.jsonl"), lines)
    write_json(run.path("funnel.json"), counts)
    write_text(run.path("funnel.svg"), funnel_svg(counts))
    write_text(run.path("report.html"), funnel_page(counts, lines))
    admitted = [outcome.record for outcome in outcomes if outcome.admitted]
    card = data_card(suite.resolve().name, split, run.config, admitted, counts)
    content = exclusion_content(admitted, corpus.documents)
    size = write_suite(suite, content, split, controls or Controls(), card)
    return {"run": str(folder), "suite": str(suite), "split": split, "queries": size, **counts}


def _nested(written: Written) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (reason, tier), number in sorted(written.dropped.items()):
        nested.setdefault(reason, {})[tier] = number
    return nested

"""Run systems over a suite: rankings, outcomes per query, means with intervals, and comparisons with a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from excise.evaluation.experiments.indexes import build_index, corpus_fingerprint, load_operator
from excise.evaluation.experiments.run_folder import SEED, RunFolder, run_config
from excise.evaluation.measures.outcomes import (
    DEPTH,
    METRICS,
    Estimate,
    PerQuery,
    aggregate,
    aggregate_by,
    by_query,
    judge,
)
from excise.evaluation.measures.significance import compare
from excise.evaluation.systems.cases import Case, suite_cases, suite_collection
from excise.evaluation.systems.rankings import Ranking
from excise.evaluation.systems.registry import System, find_systems
from excise.evaluation.systems.topic_sources import TopicSource, detect_topics, oracle_topics
from excise.progress import Progress, silent
from excise.results import Topic
from excise.suites.suites import Query, Suite, load_suite

COMPARED = ("success@10", "ndcg@10", "xndcg@10")
Topics = Mapping[str, tuple[Topic, ...]]


def evaluate(
    suite: str | Path,
    split: str,
    systems: str | Sequence[str],
    out: str | Path,
    *,
    limit: int | None = None,
    baseline: str = "frozen",
    index: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Measure systems on a suite, and write what was found to a folder.

    The folder gets ``metrics.json`` (what is returned), ``per_query.jsonl`` and a TREC run per system. Called again
    with the same arguments, it goes on where an interrupted run stopped.

    Parameters
    ----------
    suite, split, limit
        as in :func:`excise.suites.suites.load_suite`.
    systems
        names from :mod:`excise.evaluation.systems.registry`, as a list or with commas between.
    out, overwrite
        the folder that is written to, and whether to discard another run that is in it.
    baseline
        the system that the others are compared with; it is run too where it is not named.
    index
        an index of the suite's corpus; by default one is built once and kept in the user's cache.
    progress
        called as the work goes on.
    """
    place = None if index is None else Path(index)
    loaded = load_suite(suite, split, limit)
    operator = load_operator(place)
    collection = suite_collection(operator)
    chosen = find_systems(with_baseline(systems, baseline), collection)
    topics = {source: _topics(source, loaded.queries) for source in {s.source for s in chosen} if source is not None}
    config = {"suite": loaded.name, "split": split, **run_config(operator, chosen, limit)}
    config["fingerprints"] |= {"corpus": corpus_fingerprint(loaded.corpus), "queries": _queries_fingerprint(loaded)}
    folder = RunFolder(Path(out), config, overwrite)
    pending = [query for query in loaded.queries if _missing(query, chosen, folder)]
    if pending:
        operator.engine = build_index(loaded, operator, place, progress)
    before = len(loaded.queries) - len(pending)
    for done, case in enumerate(suite_cases(pending, collection), before):
        progress("searching", done, len(loaded.queries))
        _run_case(case, loaded, chosen, topics, folder)
    metrics = _summary(loaded, chosen, folder, baseline)
    folder.summarise(metrics)
    return metrics


def with_baseline(systems: str | Sequence[str], baseline: str) -> list[str]:
    """The names of systems, the baseline first where it is not among them.

    Examples
    --------
    >>> with_baseline("paper:oracle, bm25", "frozen")
    ['frozen', 'paper:oracle', 'bm25']
    """
    names = [name.strip() for name in (systems.split(",") if isinstance(systems, str) else systems)]
    return names if baseline in names or not any(names) else [baseline, *names]


def comparisons(
    outcomes: Mapping[str, Mapping[str, Mapping[str, float]]], baseline: str
) -> dict[str, dict[str, dict[str, Any]]]:
    """The paired bootstrap of every system against the baseline.

    Parameters
    ----------
    outcomes
        by system and metric, the outcome of each query.
    baseline
        one of the systems.
    """
    return {
        system: {
            metric: asdict(compare(values, outcomes[baseline][metric], seed=SEED))
            for metric, values in metrics.items()
            if values
        }
        for system, metrics in outcomes.items()
        if system != baseline
    }


def _topics(source: TopicSource, queries: Sequence[Query]) -> Topics:
    if source == "oracle":
        return {query.id: oracle_topics(query) for query in queries}
    found = detect_topics([query.text for query in queries])
    return {query.id: topics for query, topics in zip(queries, found, strict=True)}


def _missing(query: Query, systems: Sequence[System], folder: RunFolder) -> list[System]:
    return [system for system in systems if (system.name, query.id) not in folder.finished]


def _run_case(
    case: Case, suite: Suite, systems: Sequence[System], topics: Mapping[TopicSource, Topics], folder: RunFolder
) -> None:
    """Rank one case with every system that has not done so yet, and write what came out."""
    query = case.query
    alone = replace(
        suite,
        queries=(query,),
        qrels={query.id: suite.qrels[query.id]} if query.id in suite.qrels else {},
        negatives={query.id: suite.negatives[query.id]} if query.id in suite.negatives else {},
    )
    records, runs = [], {}
    for system in _missing(query, systems, folder):
        ranking = system.rank(case, topics[system.source][query.id] if system.source is not None else ())
        outcome = judge(alone, {query.id: ranking.ids}, {query.id: ranking.fired})[0]
        records.append(_record(system.name, query, ranking, outcome, alone))
        runs[system.name] = [(document.id, document.score) for document in ranking.documents]
    folder.add(records, runs)


def _record(system: str, query: Query, ranking: Ranking, outcome: PerQuery, suite: Suite) -> dict[str, Any]:
    golds = {id for id, score in suite.qrels.get(query.id, {}).items() if score > 0}
    excluded = suite.negatives.get(query.id, frozenset())

    def label(id: str) -> str:
        return "gold" if id in golds else "excluded" if id in excluded else "neutral"

    return {
        "system": system,
        "id": query.id,
        "text": query.text,
        "metadata": dict(query.metadata),
        "fired": ranking.fired,
        "topics": [asdict(topic) for topic in ranking.topics],
        "metrics": outcome.values(),
        "top": [
            {"rank": rank, **asdict(document), "label": label(document.id)}
            for rank, document in enumerate(ranking.documents[:DEPTH], 1)
        ],
        "removed": list(ranking.removed),
    }


def _summary(suite: Suite, systems: Sequence[System], folder: RunFolder, baseline: str) -> dict[str, Any]:
    outcomes = {
        system.name: [
            PerQuery.of(query.id, folder.finished[system.name, query.id]["metrics"]) for query in suite.queries
        ]
        for system in systems
    }
    overall = {name: aggregate(own, SEED) for name, own in outcomes.items()}
    tiers: dict[str, dict[str, dict[str, float]]] = {}
    for name, own in outcomes.items():
        for tier, estimates in aggregate_by(own, suite.queries, "tier", SEED).items():
            tiers.setdefault(tier, {})[name] = _means(estimates)
    tested = {name: {metric: by_query(own, metric) for metric in COMPARED} for name, own in outcomes.items()}
    return {
        "suite": suite.name,
        "split": suite.split,
        "queries": len(suite.queries),
        "systems": {name: _means(estimates) for name, estimates in overall.items()},
        "tiers": tiers,
        "intervals": {name: {m: [e.low, e.high] for m, e in estimates.items()} for name, estimates in overall.items()},
        "significance": comparisons(tested, baseline),
        "config": {**folder.config, "baseline": baseline},
    }


def _means(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    return {metric: estimates[metric].mean for metric in METRICS if metric in estimates}


def _queries_fingerprint(suite: Suite) -> str:
    negatives = {id: sorted(documents) for id, documents in suite.negatives.items()}
    return sha256(repr((suite.queries, suite.qrels, negatives)).encode()).hexdigest()[:16]

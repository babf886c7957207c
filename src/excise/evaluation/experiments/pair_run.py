"""Run systems over a file of pairs: which of two passages each one ranks higher."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from excise.documents import Document
from excise.errors import InvalidInput
from excise.evaluation.experiments.indexes import corpus_fingerprint, load_operator
from excise.evaluation.experiments.run_folder import RunFolder, run_config
from excise.evaluation.experiments.suite_run import comparisons, with_baseline
from excise.evaluation.measures.outcomes import accuracy, pair_holds
from excise.evaluation.systems.cases import Case, Collection, reranked_case
from excise.evaluation.systems.rankings import Ranking
from excise.evaluation.systems.registry import System, find_systems
from excise.evaluation.systems.topic_sources import detect_topics
from excise.progress import Progress, silent
from excise.results import Topic
from excise.suites.pairs import PairSet, PassagePair, load_pairs
from excise.suites.suites import Query

Detected = dict[str, tuple[Topic, ...]]


def evaluate_pairs(
    file: str | Path,
    systems: str | Sequence[str],
    out: str | Path,
    *,
    limit: int | None = None,
    baseline: str = "frozen",
    overwrite: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Measure how often systems prefer the right passage of two, and write what was found to a folder.

    The two passages are a shortlist of their own, so that the rule takes its absolute branch. Pairs carry no topics, so
    that there is no ``:oracle`` here. The folder gets ``metrics.json`` (what is returned) and ``per_query.jsonl``.

    Parameters
    ----------
    file
        as in :func:`excise.suites.pairs.load_pairs`.
    systems, out, baseline, overwrite, progress
        as in :func:`excise.evaluation.experiments.suite_run.evaluate`.
    limit
        only the first so many pairs.
    """
    if limit is not None and limit < 1:
        raise InvalidInput(f"limit must be a whole number of at least 1, got {limit!r}.")
    loaded = load_pairs(file)
    pairs = loaded.pairs[:limit]
    operator = load_operator(None)
    documents = [document for pair in pairs for two in _passages(pair) for document in two]
    collection = Collection(operator, lambda: documents, depth=len(documents))
    chosen = find_systems(with_baseline(systems, baseline), collection)
    topics = _topics(chosen, pairs)
    config = {"file": loaded.name, **run_config(operator, chosen, limit)}
    config["fingerprints"] |= {"pairs": corpus_fingerprint(loaded.path)}
    folder = RunFolder(Path(out), config, overwrite)
    for done, pair in enumerate(pairs):
        progress("ranking pairs", done, len(pairs))
        missing = [system for system in chosen if (system.name, pair.id) not in folder.finished]
        if missing:
            cases = list(_cases(pair, collection))
            folder.add([_record(system, pair, cases, topics) for system in missing], {})
    metrics = _summary(loaded, pairs, chosen, folder, baseline)
    folder.summarise(metrics)
    return metrics


def _topics(systems: Sequence[System], pairs: Sequence[PassagePair]) -> Detected:
    for system in systems:
        if system.source == "oracle":
            raise InvalidInput(f"{system.name!r}: pairs name no excluded topics, so that ':oracle' has none to take.")
    if not any(system.source == "detector" for system in systems):
        return {}
    queries = list(dict.fromkeys(preference.query for pair in pairs for preference in pair.preferences))
    return dict(zip(queries, detect_topics(queries), strict=True))


def _passages(pair: PassagePair) -> list[tuple[Document, Document]]:
    """For each preference, the passage that is preferred and the other one."""
    return [
        (Document(f"{pair.id}/{n}/preferred", wish.preferred), Document(f"{pair.id}/{n}/other", wish.other))
        for n, wish in enumerate(pair.preferences, 1)
    ]


def _cases(pair: PassagePair, collection: Collection) -> Iterator[Case]:
    for preference, passages in zip(pair.preferences, _passages(pair), strict=True):
        yield reranked_case(Query(pair.id, preference.query), passages, collection)


def _record(system: System, pair: PassagePair, cases: Sequence[Case], topics: Detected) -> dict[str, Any]:
    rankings = [system.rank(case, topics[case.query.text] if system.source == "detector" else ()) for case in cases]
    scores = [
        (_score(ranking, preferred), _score(ranking, other))
        for ranking, (preferred, other) in zip(rankings, _passages(pair), strict=True)
    ]
    return {
        "system": system.name,
        "id": pair.id,
        "metrics": {"accuracy": float(pair_holds(scores))},
        "preferences": [
            {
                "text": case.query.text,
                "fired": ranking.fired,
                "topics": [asdict(topic) for topic in ranking.topics],
                "preferred_score": _plain(preferred),
                "other_score": _plain(other),
            }
            for case, ranking, (preferred, other) in zip(cases, rankings, scores, strict=True)
        ],
    }


def _score(ranking: Ranking, passage: Document) -> float:
    """A passage's score; that of one which was removed, or not found, is below any other."""
    return next((ranked.score for ranked in ranking.documents if ranked.id == passage.id), -math.inf)


def _plain(score: float) -> float | None:
    return score if math.isfinite(score) else None


def _summary(
    loaded: PairSet, pairs: Sequence[PassagePair], systems: Sequence[System], folder: RunFolder, baseline: str
) -> dict[str, Any]:
    outcomes = {
        system.name: {pair.id: folder.finished[system.name, pair.id]["metrics"]["accuracy"] for pair in pairs}
        for system in systems
    }
    estimates = {name: accuracy(bool(value) for value in own.values()) for name, own in outcomes.items()}
    return {
        "file": loaded.name,
        "kind": loaded.kind,
        "pairs": len(pairs),
        "systems": {name: {"accuracy": estimate.mean} for name, estimate in estimates.items()},
        "intervals": {name: {"accuracy": [estimate.low, estimate.high]} for name, estimate in estimates.items()},
        "significance": comparisons({name: {"accuracy": own} for name, own in outcomes.items()}, baseline),
        "config": {**folder.config, "baseline": baseline},
    }

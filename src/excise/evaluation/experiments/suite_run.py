"""Run systems over a suite: rankings, outcomes per query, means with intervals, and comparisons with a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from excise.evaluation.experiments.indexes import build_index, load_operator
from excise.evaluation.experiments.run_config import SEED, RunConfig, run_config
from excise.evaluation.experiments.run_folder import RunFolder
from excise.evaluation.experiments.suite_report import Estimates, QueryLine, SuiteReport
from excise.evaluation.measures.outcomes import PerQuery, aggregate, aggregate_by, by_query, outcome_of
from excise.evaluation.measures.significance import comparisons
from excise.evaluation.systems.cases import Case, Collection, suite_cases
from excise.evaluation.systems.registry import System, build_systems
from excise.evaluation.systems.spec import TopicSource, parse_systems, split_names
from excise.evaluation.systems.topic_sources import excluded_by
from excise.progress import Progress, silent
from excise.results import Detection
from excise.search.pipeline import Pipeline
from excise.suites.suites import Query, Suite, load_suite

COMPARED = ("success@10", "ndcg@10", "xndcg@10")
Detections = Mapping[tuple[TopicSource | None, str], Detection]
"""By source of topics and query id, what the query rules out."""


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
) -> SuiteReport:
    """Measure systems on a suite, and write what was found to a folder.

    The folder gets ``metrics.json`` (what is returned), ``per_query.jsonl`` and a TREC run per system. Called again
    with the same arguments, it goes on where an interrupted run stopped. The corpus is read once, and one snapshot of
    the index serves the whole run.

    Parameters
    ----------
    suite, split, limit
        as in :func:`excise.suites.suites.load_suite`.
    systems
        names from :mod:`excise.evaluation.systems.spec`: a list, which is taken as it is, or a line with commas
        between.
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
    names = with_baseline(systems, baseline)
    parse_systems(names)  # a name that there is not must not cost the loading of models
    operator = load_operator(loaded, place)
    specs = parse_systems(names, operator.settings)
    chosen = build_systems(specs, operator.pipeline.models)
    digests = {"corpus": loaded.corpus_fingerprint, "queries": _queries_fingerprint(loaded)}
    config = run_config({"suite": loaded.name, "split": split}, specs, operator, limit, digests)
    folder = RunFolder(Path(out), config.to_dict(), overwrite)
    pending = [query for query in loaded.queries if _missing(query, chosen, folder)]
    if pending:
        detections = _detections(chosen, loaded.queries, operator.pipeline)
        reader = build_index(loaded, operator, place, progress)
        collection = Collection(operator.pipeline, loaded.documents(), reader)
        before = len(loaded.queries) - len(pending)
        for done, case in enumerate(suite_cases(pending, collection), before):
            progress("searching", done, len(loaded.queries))
            _run_case(case, loaded, chosen, detections, folder)
    report = _report(loaded, chosen, folder, config, baseline)
    folder.summarise(report.to_dict())
    return report


def with_baseline(systems: str | Sequence[str], baseline: str) -> list[str]:
    """The names of systems, the baseline first where it is not among them.

    Examples
    --------
    >>> with_baseline("paper:oracle, bm25", "frozen")
    ['frozen', 'paper:oracle', 'bm25']
    """
    names = split_names(systems)
    return names if baseline in names or not names else [baseline, *names]


def _detections(systems: Sequence[System], queries: Sequence[Query], pipeline: Pipeline) -> Detections:
    return {
        (source, query.id): detection
        for source in dict.fromkeys(system.source for system in systems)
        for query, detection in zip(queries, excluded_by(source, queries, pipeline), strict=True)
    }


def _missing(query: Query, systems: Sequence[System], folder: RunFolder) -> list[System]:
    return [system for system in systems if (system.name, query.id) not in folder.finished]


def _run_case(case: Case, suite: Suite, systems: Sequence[System], detections: Detections, folder: RunFolder) -> None:
    """Rank one case with every system that has not done so yet, and write what came out."""
    query = case.query
    relevance, excluded = suite.qrels.get(query.id, {}), suite.negatives.get(query.id, frozenset())
    golds = {id for id, score in relevance.items() if score > 0}
    lines = []
    for system in _missing(query, systems, folder):
        ranking = system.rank(case, detections[system.source, query.id])
        outcome = outcome_of(
            query.id,
            ranking.ids,
            relevance,
            excluded,
            ranking.fired,
            removed=ranking.removed,
            grades=suite.graded.get(query.id),
        )
        lines.append(QueryLine.of(system.name, query, ranking, outcome, golds, excluded))
    folder.add(lines, {line.system: [(one.id, one.score) for one in line.ranking.documents] for line in lines})


def _report(
    suite: Suite, systems: Sequence[System], folder: RunFolder, config: RunConfig, baseline: str
) -> SuiteReport:
    outcomes = {
        system.name: [PerQuery.of(query.id, folder.finished[system.name, query.id]) for query in suite.queries]
        for system in systems
    }
    tiers: dict[str, dict[str, Estimates]] = {}
    for name, own in outcomes.items():
        for tier, estimates in aggregate_by(own, suite.queries, "tier", SEED).items():
            tiers.setdefault(tier, {})[name] = estimates
    tested = {name: {metric: by_query(own, metric) for metric in COMPARED} for name, own in outcomes.items()}
    return SuiteReport(
        suite=suite.name,
        split=suite.split,
        queries=len(suite.queries),
        systems={name: aggregate(own, SEED) for name, own in outcomes.items()},
        tiers=tiers,
        significance=comparisons(tested, baseline, SEED),
        config=config,
        baseline=baseline,
    )


def _queries_fingerprint(suite: Suite) -> str:
    negatives = {id: sorted(documents) for id, documents in suite.negatives.items()}
    known = (suite.queries, suite.qrels, negatives, *([suite.graded] if suite.graded else []))
    return sha256(repr(known).encode()).hexdigest()[:16]

"""Run systems over a suite: rankings, outcomes per query, means with intervals, and comparisons with a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from time import perf_counter

from excise.encoders.backbone import load_backbone
from excise.evaluation.experiments.code_digest import code_digest
from excise.evaluation.experiments.indexes import build_index, load_operator
from excise.evaluation.experiments.run_config import SEED, RunConfig, run_config
from excise.evaluation.experiments.run_folder import RunFolder
from excise.evaluation.experiments.shortlists import stored_shortlists
from excise.evaluation.experiments.stopwatch import Clock, Ranks, Stopwatch
from excise.evaluation.experiments.suite_report import Estimates, QueryLine, SuiteReport
from excise.evaluation.measures.outcomes import PerQuery, aggregate, aggregate_by, by_query, outcome_of
from excise.evaluation.measures.significance import comparisons
from excise.evaluation.systems.cases import Case, Collection, suite_cases
from excise.evaluation.systems.rankings import Ranking
from excise.evaluation.systems.registry import System, build_systems
from excise.evaluation.systems.spec import TopicSource, parse_systems, split_names
from excise.evaluation.systems.topic_sources import excluded_by
from excise.progress import Progress, silent
from excise.results import Detection
from excise.search.operator import Excise
from excise.suites.suites import Query, Suite, load_suite

COMPARED = ("success@10", "ndcg@10", "xndcg@10")


class SuiteBench:
    """A suite with an operator over its index, opened once for any number of systems.

    Parameters
    ----------
    suite, limit
        what is measured on, and how many of its queries were asked for.
    operator
        as :func:`excise.evaluation.experiments.indexes.load_operator` gave it.
    index
        where the index is; by default in the user's cache.
    shortlists
        a file that the frozen shortlists are kept in between systems; without it each run searches for itself.
    """

    def __init__(
        self,
        suite: Suite,
        operator: Excise,
        limit: int | None = None,
        index: Path | None = None,
        shortlists: Path | None = None,
    ) -> None:
        self.suite, self.operator, self.limit = suite, operator, limit
        self._index, self._shortlists = index, shortlists
        self.detector_ms: float | None = None  # a query, all of them in one go; the first of them loads the detector
        self._collection: Collection | None = None
        self._detections: dict[TopicSource | None, dict[str, Detection]] = {}

    def cases(self, queries: Sequence[Query], progress: Progress) -> Iterator[Case]:
        """Queries with their frozen shortlists."""
        if self._collection is None:
            reader = build_index(self.suite, self.operator, self._index, progress)
            self._collection = Collection(self.operator.pipeline, self.suite.documents(), reader)
        if self._shortlists is None:
            return suite_cases(queries, self._collection)
        known = [self.suite.corpus_fingerprint, queries_fingerprint(self.suite), self.operator.backbone.fingerprint]
        key = [*known, code_digest(), str(self._index or "")]
        stored = stored_shortlists(self._shortlists, key, self.suite.queries, self._collection, progress)
        return stored.cases(queries, self._collection)

    def excluded(self, source: TopicSource | None, query: Query) -> Detection:
        """What a query rules out, as a source of topics has it."""
        if source not in self._detections:
            start = perf_counter()
            found = excluded_by(source, self.suite.queries, self.operator.pipeline)
            if source == "detector":
                self.detector_ms = 1000 * (perf_counter() - start) / len(self.suite.queries)
            self._detections[source] = {one.id: two for one, two in zip(self.suite.queries, found, strict=True)}
        return self._detections[source][query.id]


def evaluate(
    suite: str | Path,
    split: str,
    systems: str | Sequence[str],
    out: str | Path,
    *,
    limit: int | None = None,
    baseline: str = "frozen",
    index: str | Path | None = None,
    backbone: str | None = None,
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
    backbone
        preset name, hub id, or folder of the encoder; by default that of the index, or the embedded one.
    progress
        called as the work goes on.
    """
    place = None if index is None else Path(index)
    loaded = load_suite(suite, split, limit)
    names = with_baseline(systems, baseline)
    parse_systems(names)  # a name that there is not must not cost the loading of models
    operator = load_operator(loaded, place, None if backbone is None else load_backbone(backbone))
    bench = SuiteBench(loaded, operator, limit, place)
    return evaluate_on(bench, names, out, baseline=baseline, overwrite=overwrite, progress=progress)


def evaluate_on(
    bench: SuiteBench,
    systems: Sequence[str],
    out: str | Path,
    *,
    baseline: str = "frozen",
    overwrite: bool = False,
    recorded: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    progress: Progress = silent,
) -> SuiteReport:
    """Measure systems on a suite that is open already.

    Parameters
    ----------
    bench
        the suite and its index.
    systems, out, baseline, overwrite, progress
        as in :func:`evaluate`; the baseline is one of the systems.
    recorded
        what else the outcomes depend on, for the configuration.
    clock
        told how long rankings took (:class:`excise.evaluation.experiments.stopwatch.Stopwatch`).
    """
    loaded, operator = bench.suite, bench.operator
    specs = parse_systems(systems, operator.settings)
    digests = {"corpus": loaded.corpus_fingerprint, "queries": queries_fingerprint(loaded)}
    data = {"suite": loaded.name, "split": loaded.split, **(recorded or {})}
    config = run_config(data, specs, operator, bench.limit, digests)
    chosen = build_systems(specs, operator.pipeline.models)
    rank = Stopwatch(clock, operator.pipeline.models).rank if clock else _rank
    folder = RunFolder(Path(out), config.to_dict(), overwrite)
    pending = [query for query in loaded.queries if _missing(query, chosen, folder)]
    if pending:
        before = len(loaded.queries) - len(pending)
        for done, case in enumerate(bench.cases(pending, progress), before):
            progress("searching", done, len(loaded.queries))
            _run_case(case, bench, chosen, folder, rank)
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


def _missing(query: Query, systems: Sequence[System], folder: RunFolder) -> list[System]:
    return [system for system in systems if (system.name, query.id) not in folder.finished]


def _rank(system: System, case: Case, detection: Detection) -> Ranking:
    return system.rank(case, detection)


def _run_case(case: Case, bench: SuiteBench, systems: Sequence[System], folder: RunFolder, rank: Ranks) -> None:
    """Rank one case with every system that has not done so yet, and write what came out."""
    query, suite = case.query, bench.suite
    relevance, excluded = suite.qrels.get(query.id, {}), suite.negatives.get(query.id, frozenset())
    golds = {id for id, score in relevance.items() if score > 0}
    lines = []
    for system in _missing(query, systems, folder):
        ranking = rank(system, case, bench.excluded(system.source, query))
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


def queries_fingerprint(suite: Suite) -> str:
    """A digest of the queries of a suite, with what they want and rule out."""
    negatives = {id: sorted(documents) for id, documents in suite.negatives.items()}
    known = (suite.queries, suite.qrels, negatives, *([suite.graded] if suite.graded else []))
    return sha256(repr(known).encode()).hexdigest()[:16]

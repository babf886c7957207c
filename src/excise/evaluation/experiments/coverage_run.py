"""Run systems over graded labels: what each one removes, and whether that covers the topic that was ruled out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from excise.encoders.backbone import Backbone
from excise.errors import InvalidInput
from excise.evaluation.experiments.coverage_report import CoverageReport, SearchLine, removals_of
from excise.evaluation.experiments.indexes import build_index, load_operator
from excise.evaluation.experiments.run_config import RunConfig, run_config
from excise.evaluation.experiments.run_folder import SEARCH_LINES, RunError, RunFolder
from excise.evaluation.measures.removals import SearchRemovals
from excise.evaluation.systems.cases import Collection, suite_cases
from excise.evaluation.systems.registry import System, build_systems
from excise.evaluation.systems.spec import SystemSpec, parse_systems, split_names
from excise.evaluation.systems.topic_sources import oracle
from excise.progress import Progress, silent
from excise.search.operator import Excise
from excise.suites.corpus_file import CorpusFile
from excise.suites.coverage_labels import CoverageLabels, LabelledSearch, load_labels
from excise.suites.jsonlines import read_objects
from excise.suites.suites import Query, Suite

Paths = Mapping[str, str | Path]
"""By the name of a corpus, a file or a folder."""


def evaluate_coverage(
    labels: Sequence[str | Path],
    corpora: Paths,
    systems: str | Sequence[str],
    out: str | Path,
    *,
    indexes: Paths | None = None,
    limit: int | None = None,
    backbone: Backbone | None = None,
    overwrite: bool = False,
    recorded: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> CoverageReport:
    """Measure what systems remove against graded labels, and write what was found to a folder.

    Every system gets the frozen shortlist of each search and the labelled topic, as if a user had named it: ``:oracle``
    and ``:detector`` make no difference here. The folder gets ``metrics.json`` (what is returned) and
    ``per_search.jsonl``. Called again with the same arguments, it goes on where an interrupted run stopped.

    Parameters
    ----------
    labels, corpora
        as in :func:`excise.suites.coverage_labels.load_labels`.
    systems, out, overwrite, progress
        as in :func:`excise.evaluation.experiments.suite_run.evaluate`.
    indexes
        by name, an index of a corpus; by default one is built once and kept in the user's cache.
    limit
        only the first so many searches.
    backbone
        an encoder that is loaded already; by default that of the first index, or the embedded one.
    recorded
        what else the outcomes depend on, for the configuration.
    """
    places = {name: Path(folder) for name, folder in (indexes or {}).items()}
    for name in places.keys() - corpora.keys():
        raise InvalidInput(f"there is an index of {name!r}, and no corpus of that name was given.")
    names = split_names(systems)
    parse_systems(names)  # a name that there is not must not cost the reading of corpora
    loaded = load_labels(labels, corpora).first(limit)
    suites = {name: _suite(name, file, loaded.searches) for name, file in loaded.corpora.items()}
    operators = _operators(suites, places, backbone)
    operator = next(iter(operators.values()))
    specs = [_named_topics_only(spec) for spec in parse_systems(names, operator.settings)]
    chosen = build_systems(specs, operator.pipeline.models)
    config = _config(loaded, specs, operator, limit, recorded or {})
    folder = RunFolder(Path(out), config.to_dict(), overwrite, SEARCH_LINES)
    for name, suite in suites.items():
        pending = [query for query in suite.queries if _missing(query.id, chosen, folder)]
        if pending:
            reader = build_index(suite, operators[name], places.get(name), progress)
            collection = Collection(operator.pipeline, suite.documents(), reader)
            _run(pending, collection, loaded, chosen, folder, progress)
    report = CoverageReport.of(loaded.names, loaded.searches, _removals(folder, loaded, chosen), config)
    folder.summarise(report.to_dict())
    return report


def _suite(name: str, file: CorpusFile, searches: Sequence[LabelledSearch]) -> Suite:
    """The searches of a corpus. It has the name of its folder, so that its index is the one of ``excise eval``."""
    own = [search for search in searches if search.corpus == name]
    queries = tuple(Query(search.id, search.query, {"excluded": [search.topic]}) for search in own)
    folder = file.path.resolve().parent
    return Suite(folder.name, folder, "coverage", file.path, queries, {}, {}, file)


def _operators(suites: Mapping[str, Suite], places: Mapping[str, Path], given: Backbone | None) -> dict[str, Excise]:
    """One for the index of each corpus; all of them share the encoder that was given, or that of the first."""
    operators: dict[str, Excise] = {}
    for name, suite in suites.items():
        backbone = next((one.backbone for one in operators.values()), given)
        operators[name] = load_operator(suite, places.get(name), backbone)
    return operators


def _named_topics_only(spec: SystemSpec) -> SystemSpec:
    return spec if spec.source is None else replace(spec, source="oracle")


def _config(
    loaded: CoverageLabels,
    specs: Sequence[SystemSpec],
    operator: Excise,
    limit: int | None,
    recorded: Mapping[str, str],
) -> RunConfig:
    digests = {"labels": loaded.fingerprint}
    digests |= {f"corpus {name}": file.fingerprint for name, file in loaded.corpora.items()}
    return run_config({"labels": ", ".join(loaded.names), **recorded}, specs, operator, limit, digests)


def _missing(id: str, systems: Sequence[System], folder: RunFolder) -> list[System]:
    return [system for system in systems if (system.name, id) not in folder.finished]


def _run(
    pending: Sequence[Query],
    collection: Collection,
    loaded: CoverageLabels,
    systems: Sequence[System],
    folder: RunFolder,
    progress: Progress,
) -> None:
    """Run every system that has not done so yet over the searches of one corpus."""
    searches = {search.id: search for search in loaded.searches}
    for case in suite_cases(pending, collection):
        done = len({id for _, id in folder.finished})
        progress("searching", done, len(searches))
        search, topics = searches[case.query.id], oracle(case.query)
        rankings = {one.name: one.rank(case, topics) for one in _missing(search.id, systems, folder)}
        lines = [SearchLine.of(name, search, ranking, case.frozen_ranks) for name, ranking in rankings.items()]
        folder.add(lines, {})


def _removals(folder: RunFolder, loaded: CoverageLabels, systems: Sequence[System]) -> dict[str, list[SearchRemovals]]:
    """By system, what it removed for each search, in the order of the labels."""
    records = {(record["system"], record["id"]): record for _, record in read_objects(folder.lines, RunError)}
    return {
        system.name: [removals_of(records[system.name, search.id]) for search in loaded.searches] for system in systems
    }

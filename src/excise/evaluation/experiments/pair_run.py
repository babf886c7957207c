"""Run systems over a file of pairs: which of two passages each one ranks higher."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.errors import InvalidInput
from excise.evaluation.experiments.run_config import SEED, RunConfig, run_config
from excise.evaluation.experiments.run_folder import RunFolder
from excise.evaluation.experiments.suite_report import Estimates, intervals_of, means_of, plain_comparisons
from excise.evaluation.experiments.suite_run import with_baseline
from excise.evaluation.measures.outcomes import accuracy, pair_holds
from excise.evaluation.measures.significance import Comparison, comparisons
from excise.evaluation.systems.cases import Case, Collection, reranked_case
from excise.evaluation.systems.rankings import Ranking
from excise.evaluation.systems.registry import System, build_systems
from excise.evaluation.systems.spec import SystemSpec, parse_systems
from excise.evaluation.systems.topic_sources import excluded_by
from excise.progress import Progress, silent
from excise.results import Detection
from excise.search.operator import load
from excise.search.pipeline import Pipeline
from excise.suites.pairs import PairKind, PairSet, PassagePair, load_pairs
from excise.suites.suites import Query

_ACCURACY = "accuracy"


@dataclass(frozen=True)
class PreferenceLine:
    """What a system made of one preference: its ranking, and the scores of both passages.

    A passage that was removed, or not found, scores minus infinity: below any other.
    """

    text: str
    ranking: Ranking
    preferred_score: float
    other_score: float

    def to_dict(self) -> dict[str, Any]:
        """Plain types; the score of a passage that was removed is None."""
        return {
            "text": self.text,
            "fired": self.ranking.fired,
            "topics": [asdict(topic) for topic in self.ranking.topics],
            "preferred_score": _plain(self.preferred_score),
            "other_score": _plain(self.other_score),
        }


@dataclass(frozen=True)
class PairLine:
    """What a system made of a pair."""

    system: str
    id: str
    preferences: tuple[PreferenceLine, ...]

    @property
    def holds(self) -> bool:
        """Whether every preferred passage scores higher."""
        return pair_holds((one.preferred_score, one.other_score) for one in self.preferences)

    def to_dict(self) -> dict[str, Any]:
        """Plain types: a line of ``per_query.jsonl``."""
        return {
            "system": self.system,
            "id": self.id,
            "metrics": {_ACCURACY: float(self.holds)},
            "preferences": [one.to_dict() for one in self.preferences],
        }


@dataclass(frozen=True)
class PairReport:
    """What :func:`evaluate_pairs` found.

    Attributes
    ----------
    file, kind, pairs
        what was measured on, and how many pairs that is.
    systems
        by system, its accuracy with an interval.
    significance
        by system, how it differs from the baseline.
    config, baseline
        how it was run, and what the systems are compared with.
    """

    file: str
    kind: PairKind
    pairs: int
    systems: Mapping[str, Estimates]
    significance: Mapping[str, Mapping[str, Comparison]]
    config: RunConfig
    baseline: str

    def to_dict(self) -> dict[str, Any]:
        """Plain types: ``metrics.json``."""
        return {
            "file": self.file,
            "kind": self.kind,
            "pairs": self.pairs,
            "systems": means_of(self.systems),
            "intervals": intervals_of(self.systems),
            "significance": plain_comparisons(self.significance),
            "config": {**self.config.to_dict(), "baseline": self.baseline},
        }


def evaluate_pairs(
    file: str | Path,
    systems: str | Sequence[str],
    out: str | Path,
    *,
    limit: int | None = None,
    baseline: str = "frozen",
    backbone: str | Backbone | None = None,
    overwrite: bool = False,
    recorded: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> PairReport:
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
    backbone
        preset name, hub id, or folder of the encoder, or one that is loaded; by default the embedded one.
    recorded
        what else the outcomes depend on, for the configuration.
    """
    if limit is not None and limit < 1:
        raise InvalidInput(f"limit must be a whole number of at least 1, got {limit!r}.")
    loaded = load_pairs(file)
    pairs = loaded.pairs[:limit]
    names = with_baseline(systems, baseline)
    _refuse_oracles(parse_systems(names))
    operator = load(backbone=backbone)
    specs = parse_systems(names, operator.settings)
    chosen = build_systems(specs, operator.pipeline.models)
    documents = [document for pair in pairs for two in _passages(pair) for document in two]
    collection = Collection(operator.pipeline, documents, depth=len(documents))
    detections = _detections(chosen, pairs, operator.pipeline)
    digest = {"pairs": sha256(loaded.path.read_bytes()).hexdigest()[:16]}
    config = run_config({"file": loaded.name, **(recorded or {})}, specs, operator, limit, digest)
    folder = RunFolder(Path(out), config.to_dict(), overwrite)
    for done, pair in enumerate(pairs):
        progress("ranking pairs", done, len(pairs))
        missing = [system for system in chosen if (system.name, pair.id) not in folder.finished]
        if missing:
            cases = list(_cases(pair, collection))
            folder.add([_line(system, pair, cases, detections) for system in missing], {})
    report = _report(loaded, pairs, folder, config, baseline)
    folder.summarise(report.to_dict())
    return report


def _refuse_oracles(specs: Sequence[SystemSpec]) -> None:
    for spec in specs:
        if spec.source == "oracle":
            raise InvalidInput(f"{spec.name!r}: pairs name no excluded topics, so that ':oracle' has none to take.")


def _detections(
    systems: Sequence[System], pairs: Sequence[PassagePair], pipeline: Pipeline
) -> dict[tuple[str | None, str], Detection]:
    """By source of topics and query, what the query rules out."""
    texts = dict.fromkeys(preference.query for pair in pairs for preference in pair.preferences)
    queries = [Query(text, text) for text in texts]
    return {
        (source, query.text): detection
        for source in dict.fromkeys(system.source for system in systems)
        for query, detection in zip(queries, excluded_by(source, queries, pipeline), strict=True)
    }


def _passages(pair: PassagePair) -> list[tuple[Document, Document]]:
    """For each preference, the passage that is preferred and the other one."""
    return [
        (Document(f"{pair.id}/{n}/preferred", wish.preferred), Document(f"{pair.id}/{n}/other", wish.other))
        for n, wish in enumerate(pair.preferences, 1)
    ]


def _cases(pair: PassagePair, collection: Collection) -> Iterator[Case]:
    for preference, passages in zip(pair.preferences, _passages(pair), strict=True):
        yield reranked_case(Query(pair.id, preference.query), passages, collection)


def _line(
    system: System,
    pair: PassagePair,
    cases: Sequence[Case],
    detections: Mapping[tuple[str | None, str], Detection],
) -> PairLine:
    preferences = []
    for case, (preferred, other) in zip(cases, _passages(pair), strict=True):
        ranking = system.rank(case, detections[system.source, case.query.text])
        scores = {one.id: one.score for one in ranking.documents}
        both = (scores.get(preferred.id, -math.inf), scores.get(other.id, -math.inf))
        preferences.append(PreferenceLine(case.query.text, ranking, *both))
    return PairLine(system.name, pair.id, tuple(preferences))


def _plain(score: float) -> float | None:
    return score if math.isfinite(score) else None


def _report(
    loaded: PairSet, pairs: Sequence[PassagePair], folder: RunFolder, config: RunConfig, baseline: str
) -> PairReport:
    outcomes = {
        name: {_ACCURACY: {pair.id: folder.finished[name, pair.id][_ACCURACY] or 0.0 for pair in pairs}}
        for name in config.systems
    }
    return PairReport(
        file=loaded.name,
        kind=loaded.kind,
        pairs=len(pairs),
        systems={name: {_ACCURACY: accuracy(map(bool, own[_ACCURACY].values()))} for name, own in outcomes.items()},
        significance=comparisons(outcomes, baseline, SEED),
        config=config,
        baseline=baseline,
    )

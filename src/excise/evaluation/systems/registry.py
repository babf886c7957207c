"""From what was asked for to something that ranks: the systems behind :mod:`excise.evaluation.systems.spec`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from excise.engines.base import Found
from excise.evaluation.systems.cases import Case
from excise.evaluation.systems.controls import CONTROLS
from excise.evaluation.systems.external_spec import FeedbackWay, ForeignModel, ModelKind
from excise.evaluation.systems.foreign_encoders import cross_encoder_rank, dense_rank
from excise.evaluation.systems.interventions import INTERVENTIONS
from excise.evaluation.systems.language_models import judge_rank, rewrite_rank
from excise.evaluation.systems.negative_feedback import feedback_rank
from excise.evaluation.systems.rankings import (
    Rank,
    Ranking,
    found_ranking,
    frozen_ranking,
    judged_ranking,
    penalised_ranking,
)
from excise.evaluation.systems.spec import (
    FirstStage,
    Intervening,
    Operating,
    SystemSpec,
    TopicSource,
    Trained,
)
from excise.results import Detection
from excise.rules.paper import demote
from excise.search.models import SearchModels
from excise.search.pipeline import Pipeline, second_look, shortlisted
from excise.search.stages import SearchVectors, Shortlist

FOREIGN: dict[ModelKind, Callable[[ForeignModel], Rank]] = {
    "dense": dense_rank,
    "cross-encoder": cross_encoder_rank,
    "llm-rewrite": rewrite_rank,
    "llm-judge": judge_rank,
}


@dataclass(frozen=True)
class System:
    """A system that is ready to rank cases."""

    spec: SystemSpec
    rank: Rank

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def source(self) -> TopicSource | None:
        """Where its topics come from; None where it takes none."""
        return self.spec.source


def build_systems(specs: Sequence[SystemSpec], models: SearchModels) -> list[System]:
    """The systems behind specs. All of them share one backbone, one adapter and one cache."""
    return [System(spec, _rank(spec, models)) for spec in specs]


def _rank(spec: SystemSpec, models: SearchModels) -> Rank:
    way = spec.way
    if isinstance(way, FirstStage):
        return _frozen if way.name == "frozen" else _bm25
    if isinstance(way, Trained):
        return CONTROLS[way.control](models, way.folder)
    if isinstance(way, ForeignModel):
        return FOREIGN[way.kind](way)
    if isinstance(way, FeedbackWay):
        return feedback_rank(way)
    return _operating(way, models) if isinstance(way, Operating) else _intervening(way)


def _operating(way: Operating, models: SearchModels) -> Rank:
    """The product's own pipeline, from the frozen shortlist on."""
    pipeline = Pipeline(models, way.settings)

    def rank(case: Case, detection: Detection) -> Ranking:
        if not detection.topics:
            return frozen_ranking(case)
        search = case.search(detection)
        return judged_ranking(pipeline.judge(search, _candidates(case, search, pipeline)), detection.topics)

    return rank


def _candidates(case: Case, search: SearchVectors, pipeline: Pipeline) -> Shortlist:
    """As many candidates as the pipeline judges, and those of a second look where it takes one."""
    depth, reader = pipeline.settings.shortlist, case.collection.reader
    shortlist = case.shortlist.first(depth)
    if not pipeline.settings.second_look or reader is None:
        return shortlist
    found = Found(tuple(shortlist.documents), shortlist.scores, shortlist.vectors)
    return shortlisted(second_look(reader, search, found, depth))


def _intervening(way: Intervening) -> Rank:
    """The plain rule over what an intervention reads."""
    read = INTERVENTIONS[way.intervention]

    def rank(case: Case, detection: Detection) -> Ranking:
        if not detection.topics:
            return frozen_ranking(case)
        readout = read(case, case.search(detection))
        decision = demote(readout.scores, readout.evidence, way.constants)
        return penalised_ranking(case, readout.evidence, decision, detection.topics)

    return rank


def _frozen(case: Case, _: Detection) -> Ranking:
    return frozen_ranking(case)


def _bm25(case: Case, _: Detection) -> Ranking:
    found = case.collection.lexical.search(case.query.text, case.collection.depth)
    return found_ranking(case, [one.document for one in found], [one.score for one in found])

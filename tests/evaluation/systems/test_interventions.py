"""What each intervention reads, on five short documents of which two are about the excluded Tesla."""

from __future__ import annotations

import numpy as np
import pytest

from excise.documents import Document
from excise.evaluation.systems.cases import Case, Collection, reranked_case
from excise.evaluation.systems.interventions import INTERVENTIONS, Readout
from excise.evaluation.systems.spec import InterventionName
from excise.evaluation.systems.topic_gate import train_gate
from excise.evaluation.systems.topic_sources import oracle
from excise.search.pipeline import named
from excise.suites.suites import Query

TESLAS = {"modely", "model3"}


def read(name: InterventionName, case: Case, *topics: str) -> Readout:
    """What an intervention reads, of the topics named or else those of the record."""
    return INTERVENTIONS[name](case, case.search(named(case.query.text, topics) if topics else oracle(case.query)))


def by_id(values: np.ndarray, case: Case) -> dict[str, float]:
    return {document.id: float(value) for document, value in zip(case.documents, values, strict=True)}


@pytest.mark.parametrize("name", ["bm25-z", "positional-a", "positional-b", "contrastive", "subspace", "centroid"])
def test_evidence_is_stretched_and_points_at_the_topic(name: InterventionName, cars: Case) -> None:
    readout = read(name, cars)
    assert (readout.evidence.min(), readout.evidence.max()) == (0.0, 1.0)
    assert readout.scores is cars.scores
    match = by_id(readout.evidence, cars)
    assert min(match[id] for id in TESLAS) > max(value for id, value in match.items() if id not in TESLAS)


def test_positional_by_hand(cars: Case) -> None:
    # Words less stop words. modely: tesla model tesla model electric crossover tesla builds berlin;
    # model3: model electric cars were slow sell until sedan came built tesla. Wanted: electric, cars.
    early, often = by_id(read("positional-a", cars).evidence, cars), by_id(read("positional-b", cars).evidence, cars)
    first, late = np.exp(-0.4) * (1 - 0 / 9), np.exp(-0.8) * (1 - 10 / 11)
    assert early["model3"] / early["modely"] == pytest.approx(late / first)
    every, once = np.log1p(np.exp(-0.4) + np.exp(-0.2) + np.exp(-0.2)), np.log1p(np.exp(-0.8))
    assert often["model3"] / often["modely"] == pytest.approx(once / every)


def test_a_topic_that_no_text_names_leaves_lexical_rules_without_evidence(cars: Case) -> None:
    names: tuple[InterventionName, ...] = ("bm25-z", "positional-a", "positional-b", "centroid")
    for name in names:
        assert not read(name, cars, "Porsche").evidence.any()


def test_contrast_by_hand(cars: Case) -> None:
    search = cars.search(oracle(cars.query))
    vectors = cars.shortlist.vectors.windows
    (z,), x = search.topics, search.residual
    sums = [
        sum(max(0.0, max(float(t @ d - 0.5 * (x @ d).max()) for d in vectors[i].astype(np.float32))) for t in z)
        for i in range(len(cars.documents))
    ]
    spread = (np.array(sums) - min(sums)) / (max(sums) - min(sums))
    assert read("contrastive", cars).evidence == pytest.approx(spread, abs=1e-5)


def test_subspace_forgets_a_topic_that_the_wanted_words_explain(cars: Case) -> None:
    query = Query("q", "Tesla cars, but not Tesla", {"excluded": ["Tesla"]})
    case = reranked_case(query, cars.documents, cars.collection)
    readout = read("subspace", case)
    assert np.isfinite(readout.evidence).all()


def test_dropping_scores_the_query_without_the_topic(cars: Case) -> None:
    readout = read("drop", cars)
    assert not readout.evidence.any()
    before, after = by_id(cars.scores, cars), by_id(readout.scores, cars)
    assert after["modely"] - after["leaf"] < before["modely"] - before["leaf"]
    alone = reranked_case(Query("q", "Tesla", {"excluded": ["Tesla"]}), cars.documents, cars.collection)
    assert read("drop", alone).scores is alone.scores


def test_the_gate_is_trained_once_and_bounded(cars: Case) -> None:
    readout = read("gate", cars)
    assert readout.evidence.min() >= 0
    assert readout.evidence.max() <= 1
    assert train_gate(cars.collection.backbone) is train_gate(cars.collection.backbone)


def test_encoding_behind_the_topic_makes_every_flagged_candidate_look_alike(cars: Case) -> None:
    readout = read("z-conditional", cars)
    flagged = readout.evidence[readout.scores != cars.scores]
    assert len(flagged) >= len(TESLAS)
    assert flagged.min() > 0.8


def test_nothing_is_flagged_where_no_evidence_reaches_the_floor(cars: Case) -> None:
    strangers = [Document("a", "Glaciers calve into the fjord."), Document("b", "A recipe for rye bread.")]
    case = reranked_case(cars.query, strangers, Collection(cars.collection.pipeline, strangers))
    readout = read("z-conditional", case, "quantum chromodynamics")
    assert readout.scores.tolist() == case.scores.tolist()

"""Every name that can be asked for runs, means what it says, and leaves queries without a topic alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from excise.encoders.adapter import Adapter
from excise.errors import BackboneError, InvalidInput
from excise.evaluation.systems.cases import Case, Collection
from excise.evaluation.systems.controls import CONTROLS
from excise.evaluation.systems.interventions import INTERVENTIONS
from excise.evaluation.systems.rankings import Ranking, frozen_ranking
from excise.evaluation.systems.registry import KNOWN, find_system, find_systems
from excise.evaluation.systems.topic_sources import detect_topics, oracle_topics
from excise.search.operator import Excise
from excise.settings import resolve

VALUES = {"phi=": "0.8", "kappa=": "1.0", "lambda=": "2", "tau=": "0.5", "cap=": "5", "k=": "50"}
VALUES |= {"lead=": "1.5", "opening=": "0.8", "match=": "0.6", "passing=": "0.4", "many=": "3", "first=": "5"}
VALUES |= {"asked=": "0"}
NAMES = [name + VALUES.get(name, "") for name in KNOWN if name.rstrip("=") not in CONTROLS]
NAMES += ["excise+-guard", "excise+k=50", "excise+tau=0.5"]


def ranked(name: str, case: Case) -> Ranking:
    system = find_system(f"{name}:oracle", case.collection)
    return system.rank(case, oracle_topics(case.query))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_runs(name: str, cases: list[Case]) -> None:
    for case in cases[:2]:
        ranking = ranked(name, case)
        assert len(set(ranking.ids)) == len(ranking.ids)
        assert not set(ranking.removed) & set(ranking.ids)
        scores = [document.score for document in ranking.documents]
        assert np.isfinite(scores).all()
        assert scores == sorted(scores, reverse=True)
        if name == "second-look":
            assert {*ranking.ids, *ranking.removed} >= {document.id for document in case.documents}
        elif name not in ("bm25", "k=50", "excise+k=50"):
            assert {*ranking.ids, *ranking.removed} == {document.id for document in case.documents}
        assert ranking.fired == (name not in ("frozen", "bm25"))
    assert ranked(name, cases[2]).ids == frozen_ranking(cases[2]).ids or name == "bm25"


def test_excise_is_the_product(cases: list[Case], collection: Collection) -> None:
    for case in cases[:2]:
        result = collection.operator.search(case.query.text, k=10, exclude=case.query.excluded)
        ranking = ranked("excise", case)
        assert [hit.id for hit in result.hits] == ranking.ids[:10]
        assert [hit.score for hit in result.hits] == [document.score for document in ranking.documents[:10]]
        assert tuple(one.id for one in result.removed) == ranking.removed
        assert ranking.topics == result.topics


def test_the_parts_of_the_rule(cases: list[Case]) -> None:
    case = cases[0]
    assert ranked("paper", case).removed
    for name in ("demote", "soft", "cut", "-hard", "-demotion", "paper+-hard"):
        assert ranked(name, case).removed == ()
    assert ranked("-demotion", case).ids == frozen_ranking(case).ids
    assert ranked("soft", case) != ranked("demote", case)
    assert ranked("full", case) == ranked("paper+reembed", case)
    assert ranked("-switch", case) == ranked("paper", case)
    assert len(ranked("fixed2+-guard", case).removed) == 2
    assert len(ranked("cap1+-guard", case).removed) == 1
    assert len(ranked("cap=0", case).removed) == 0
    assert all(document.status == "kept" for document in ranked("lambda=0+cap=0+-guard", case).documents)
    assert ranked("tau=1", case).ids == frozen_ranking(case).ids
    assert len(ranked("k=50", case).ids) + len(ranked("k=50", case).removed) == 50


def test_the_parts_of_the_coverage_rule(cases: list[Case]) -> None:
    case = cases[0]
    whole = set(ranked("excise", case).removed)
    assert whole
    assert whole <= set(ranked("-lead", case).removed)
    assert set(ranked("-opening", case).removed) <= whole
    assert set(ranked("match=0.9", case).removed) <= whole <= set(ranked("match=0.5", case).removed)
    with pytest.raises(InvalidInput, match=r"'phi=0\.8' does not belong to the coverage rule"):
        ranked("excise+phi=0.8", case)


def test_controls_search_with_their_own_vectors(
    cases: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = cases[0]
    Adapter(case.collection.backbone).save_pretrained(tmp_path / "fresh")
    found = find_system(f"query-only={tmp_path / 'fresh'}", case.collection).rank(case, ())
    assert found.ids == frozen_ranking(case).ids
    monkeypatch.setenv("EXCISE_CACHE", str(tmp_path / "cache"))
    few = case.documents[:4]
    small = Collection(case.collection.operator, lambda: few)
    case.collection.backbone.encoder.save_pretrained(str(tmp_path / "copy"))
    again = find_system(f"reindexed={tmp_path / 'copy'}", small).rank(case, ())
    assert again.ids == [document.id for document in few]
    for control in CONTROLS:
        with pytest.raises(InvalidInput, match="there is no trained control"):
            find_system(f"{control}={tmp_path / 'missing'}", case.collection)


def test_names_compose(cases: list[Case]) -> None:
    case = cases[1]
    both = ranked("mask-z+max", case)
    assert both != ranked("mask-z", case)
    assert both != ranked("max", case)
    assert ranked("max+phi=0.8", case) == ranked("paper+phi=0.8+max", case)
    stronger = ranked("bm25-z+lambda=5", case)
    assert max(document.evidence or 0 for document in stronger.documents) == 1.0
    assert stronger.ids != ranked("bm25-z+lambda=0", case).ids


def test_bm25_searches_for_itself(cases: list[Case]) -> None:
    ranking = ranked("bm25", cases[0])
    assert ranking.documents[0].score > 0
    assert not ranking.fired


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nonsense", "there is no system 'nonsense': 'nonsense' is not one of frozen, bm25, .*z-conditional"),
        ("max+nonsense", "'nonsense' is not one of"),
        ("max+bm25-z", "'bm25-z' does not belong to the paper rule"),
        ("excise:truth", "':oracle' or ':detector', not from ':truth'"),
        ("excise:", "not from ':'"),
        ("phi=high", "'phi=high' is not a number"),
        ("cap=1.5", "'cap=1.5' is not a whole number"),
        ("phi=2", "removal_fraction must be a number from 0 to 1"),
        ("k=200", "k must be at most 100"),
        ("k=0", "shortlist must be a whole number of at least 1"),
        ("drop+max", "an intervention has its own evidence and scores"),
        ("drop+k=50", "an intervention has its own evidence and scores"),
        ("", "there is no system ''"),
    ],
)
def test_unknown_names_list_the_known_ones(name: str, sentence: str, collection: Collection) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        find_system(name, collection)


def test_lists_of_names(collection: Collection) -> None:
    found = find_systems(" frozen, paper:oracle,,frozen,max", collection)
    assert [(system.name, system.source) for system in found] == [
        ("frozen", None),
        ("paper:oracle", "oracle"),
        ("max", "detector"),
    ]
    with pytest.raises(InvalidInput, match="name at least one system; there are frozen"):
        find_systems(" ,", collection)


def test_without_a_detector_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise BackboneError("models/detector does not hold a detector.")

    monkeypatch.setattr("excise.topics.detector.load_detector", missing)
    with pytest.raises(InvalidInput, match="without ':oracle' takes its topics from the detector, which cannot be"):
        detect_topics(["cars, not Tesla"])


def test_interventions_are_nine_and_documented() -> None:
    assert len(INTERVENTIONS) == 9
    assert all("Reading:" in (read.__doc__ or "") for read in INTERVENTIONS.values())


def test_settings_of_the_shipped_operator_are_the_base(cases: list[Case], collection: Collection) -> None:
    shipped = Excise(collection.backbone, collection.operator.engine, resolve("frozen-paper", pooling="max"))
    other = Collection(shipped, collection.load_documents)
    topics = oracle_topics(cases[1].query)
    assert find_system("excise:oracle", other).rank(cases[1], topics) == ranked("max", cases[1])
    assert find_system("paper:oracle", other).rank(cases[1], topics) == ranked("paper", cases[1])

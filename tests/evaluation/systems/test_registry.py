"""Every name that can be asked for runs, means what it says, and leaves queries without a topic alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from excise.encoders.adapter import Adapter
from excise.encoders.backbone import Backbone
from excise.errors import InvalidInput
from excise.evaluation.systems.cases import Case, Collection, suite_cases
from excise.evaluation.systems.controls import CONTROLS
from excise.evaluation.systems.external_spec import MODEL_KINDS
from excise.evaluation.systems.interventions import INTERVENTIONS
from excise.evaluation.systems.rankings import Ranking, frozen_ranking
from excise.evaluation.systems.registry import FOREIGN, System, build_systems
from excise.evaluation.systems.spec import CONTROL_NAMES, INTERVENTION_NAMES, KNOWN, parse_system
from excise.evaluation.systems.topic_sources import excluded_by, oracle
from excise.results import Detection
from excise.search.models import SearchModels
from excise.search.operator import Excise
from excise.search.pipeline import Pipeline
from excise.settings import Settings, resolve
from excise.suites.suites import Query

VALUES = {"phi=": "0.8", "kappa=": "1.0", "lambda=": "2", "tau=": "0.5", "cap=": "5", "k=": "50"}
VALUES |= {"lead=": "1.5", "match=": "0.6", "first=": "5", "whole=": "0.5", "words=": "0", "means=": "0"}
VALUES |= {"asked=": "0", "caution=": "0.6", "doubt=": "0.1", "certain=": "0.9", "odds=": "0.5"}
ELSEWHERE = (*CONTROLS, *FOREIGN, "qdrant-negative", "best-score", "weight")  # tried in tests of their own
NAMES = [name + VALUES.get(name, "") for name in KNOWN if name.rstrip("=") not in ELSEWHERE]
NAMES += ["excise+-asked", "excise+k=50"]


def system(name: str, models: SearchModels, shipped: Settings | None = None) -> System:
    return build_systems([parse_system(name, shipped)], models)[0]


def ranked(name: str, case: Case) -> Ranking:
    return system(f"{name}:oracle", case.collection.pipeline.models).rank(case, oracle(case.query))


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
        elif name not in ("bm25", "bm25-not", "k=50", "excise+k=50"):
            assert {*ranking.ids, *ranking.removed} == {document.id for document in case.documents}
        assert ranking.fired == (name not in ("frozen", "bm25"))
    assert ranked(name, cases[2]).ids == frozen_ranking(cases[2]).ids or name in ("bm25", "bm25-not")


@pytest.mark.parametrize("name", ["excise", "second-look", "full"])
def test_a_system_is_the_product_with_its_settings(name: str, cases: list[Case], operator: Excise) -> None:
    settings = {"excise": resolve(), "second-look": resolve(second_look=True), "full": resolve("paper")}[name]
    product = Excise(operator.pipeline.models, operator.engine, settings)
    for case in cases[:2]:
        result = product.search(case.query.text, k=10, exclude=case.query.excluded)
        ranking = ranked(name, case)
        assert [hit.id for hit in result.hits] == ranking.ids[:10]
        scores = [document.score for document in ranking.documents[:10]]
        assert [hit.score for hit in result.hits] == pytest.approx(scores, rel=1e-6)  # products may round otherwise
        assert tuple(one.id for one in result.removed) == ranking.removed
        assert {one.status for one in ranking.removals} <= {"removed"}
        # A case brings more candidates than ten, and larger products round otherwise.
        assert [one.evidence for one in ranking.removals] == pytest.approx([one.evidence for one in result.removed])
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
    assert whole <= set(ranked("-asked", case).removed)
    assert set(ranked("caution=0.9", case).removed) <= whole <= set(ranked("caution=0.2", case).removed)
    with pytest.raises(InvalidInput, match=r"'phi=0\.8' does not belong to the coverage rule"):
        ranked("excise+phi=0.8", case)


def test_controls_search_with_their_own_vectors(
    cases: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, whole = cases[0], cases[0].collection
    models, nothing = whole.pipeline.models, Detection(cases[0].query.text, False, 0.0, ())
    fresh, copy = tmp_path / "fresh:1,a", tmp_path / "copy"  # a colon and a comma are parts of a path like any other
    Adapter(whole.backbone).save_pretrained(fresh)
    found = system(f"query-only={fresh}", models).rank(case, nothing)
    assert found.ids == frozen_ranking(case).ids
    monkeypatch.setenv("EXCISE_CACHE", str(tmp_path / "cache"))
    few = list(case.documents[:4])
    (small,) = suite_cases([case.query], Collection(whole.pipeline, few, whole.reader))
    whole.backbone.encoder.save_pretrained(str(copy))
    again = system(f"reindexed={copy}", models).rank(small, nothing)
    assert again.ids == [document.id for document in few]
    given = replace(small, collection=Collection(whole.pipeline, few, None))  # candidates that no index holds
    for name in (f"query-only={fresh}", f"reindexed={copy}"):
        assert system(name, models).rank(given, nothing).ids[:10] == frozen_ranking(given).ids[:10]
    for control in CONTROLS:
        with pytest.raises(InvalidInput, match="there is no trained control"):
            system(f"{control}={tmp_path / 'missing'}", models)


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


def test_without_a_detector_there_is_one_sentence(minilm: Backbone) -> None:
    asked = [Query("q", "cars, not Tesla")]
    for missing in (None, "no-such-folder"):
        pipeline = Pipeline(SearchModels(minilm, detector=missing))
        with pytest.raises(InvalidInput, match="without ':oracle' takes its topics from the detector, which cannot be"):
            excluded_by("detector", asked, pipeline)
    assert not excluded_by(None, asked, pipeline)[0].topics


def test_what_can_be_named_is_there_and_documented() -> None:
    assert tuple(INTERVENTIONS) == INTERVENTION_NAMES
    assert tuple(CONTROLS) == CONTROL_NAMES
    assert tuple(FOREIGN) == MODEL_KINDS
    assert len(INTERVENTIONS) == 9
    assert all("Reading:" in (read.__doc__ or "") for read in INTERVENTIONS.values())


def test_settings_of_the_shipped_operator_are_the_base(cases: list[Case]) -> None:
    shipped, models = resolve("frozen-paper", pooling="max"), cases[1].collection.pipeline.models
    excluded = oracle(cases[1].query)
    assert system("excise:oracle", models, shipped).rank(cases[1], excluded) == ranked("max", cases[1])
    assert system("paper:oracle", models, shipped).rank(cases[1], excluded) == ranked("paper", cases[1])

"""Systems of others: negative feedback, encoders of sentence-transformers, and language models behind an endpoint."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "xbench"))  # where the server that speaks the protocol is
from chat_server import ChatServer, completion

from excise.documents import Document
from excise.errors import BackboneError, InvalidInput
from excise.evaluation.systems.cases import Case, Collection, suite_cases
from excise.evaluation.systems.external_spec import FeedbackWay, ForeignModel
from excise.evaluation.systems.foreign_encoders import model_fingerprint
from excise.evaluation.systems.interventions import candidate_means
from excise.evaluation.systems.language_models import LanguageModelError
from excise.evaluation.systems.rankings import Ranking, frozen_ranking
from excise.evaluation.systems.registry import build_systems
from excise.evaluation.systems.spec import parse_system, parse_systems
from excise.evaluation.systems.topic_gate import unit_means
from excise.evaluation.systems.topic_sources import oracle
from excise.suites.suites import Query


def ranked(name: str, case: Case) -> Ranking:
    system = build_systems([parse_system(name)], case.collection.pipeline.models)[0]
    return system.rank(case, oracle(case.query))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    chat = ChatServer()
    yield chat
    chat.close()


def test_names_of_others_are_read_with_their_options() -> None:
    line = 'bm25-not:oracle, dense="models/a,b;query=Find, not: {query}", cross-encoder=owner/name;k=20'
    specs = parse_systems(line)
    assert specs[0].way == FeedbackWay("bm25-not")
    assert specs[0].source == "oracle"
    assert specs[1].way == ForeignModel("dense", "models/a,b", query="Find, not: {query}")
    assert specs[2].way == ForeignModel("cross-encoder", "owner/name", k=20)
    assert parse_system("rocchio+weight=0.25").way == FeedbackWay("rocchio", 0.25)
    assert parse_system("qdrant-negative+best-score").way == FeedbackWay("qdrant-negative", 0.0, best_score=True)
    judge = parse_system("llm-judge=qwen2.5:1.5b;url=http://127.0.0.1:1/v1;k=5").way
    assert judge == ForeignModel("llm-judge", "qwen2.5:1.5b", k=5, url="http://127.0.0.1:1/v1")
    assert parse_system("dense=a").source is None


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("dense=", "names no model"),
        ("dense=a;prompt=b", r"dense has no option 'prompt=b'; it has query, document"),
        ("dense=a;query=no place", r"must hold \{query\}"),
        ("cross-encoder=a;k=0", "k must be a whole number of at least 1, got '0'"),
        ("rocchio+weight=-1", "a weight is a number of at least 0, got '-1'"),
        ("bm25-not+weight=1", "'weight=1' does not belong to bm25-not"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(name: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        parse_system(name)


def test_bm25_not_takes_out_what_names_the_topic(cars: Case) -> None:
    ranking = ranked("bm25-not", cars)
    assert set(ranking.removed) == {"modely", "model3"}
    assert set(ranking.ids) <= {"leaf", "zoe", "ami"}
    plural = Query("q", "electric cars, no Teslas", {"excluded": ["Teslas"]})
    case = Case(plural, cars.encoded, cars.shortlist, cars.collection)
    assert set(ranked("bm25-not", case).removed) == {"modely", "model3"}


def test_maxsim_not_takes_the_same_out_of_the_shortlist(cars: Case) -> None:
    ranking = ranked("maxsim-not", cars)
    assert set(ranking.removed) == {"modely", "model3"}
    assert set(ranking.ids) == {one.id for one in cars.documents} - {"modely", "model3"}
    plain = Case(Query("q", "cars"), cars.encoded, cars.shortlist, cars.collection)
    assert ranked("maxsim-not", plain).ids == frozen_ranking(plain).ids


@pytest.mark.parametrize("name", ["rocchio", "maxsim-minus"])
def test_feedback_pushes_the_topic_down(name: str, cars: Case) -> None:
    frozen = frozen_ranking(cars)
    assert ranked(f"{name}+weight=0", cars).ids == frozen.ids
    moved = ranked(f"{name}+weight=3", cars)
    assert set(moved.ids) == set(frozen.ids)
    assert moved.fired
    assert moved.ids.index("modely") > frozen.ids.index("modely")
    assert [one.score for one in moved.documents] == sorted((one.score for one in moved.documents), reverse=True)


@pytest.mark.parametrize("name", ["qdrant-negative", "qdrant-negative+best-score"])
def test_qdrant_takes_topics_as_negative_examples(name: str, cars: Case) -> None:
    pytest.importorskip("qdrant_client")
    ranking = ranked(name, cars)
    assert set(ranking.ids) == {document.id for document in cars.documents}
    search = cars.search(oracle(cars.query))
    wanted, unwanted = (unit_means(own, np.array([0, len(own)]))[0] for own in (search.query.vectors, search.topics[0]))
    if "best" not in name:  # Qdrant's "average vector" is the positive one twice, less the negative one
        moved = 2 * wanted - unwanted
        expected = candidate_means(cars) @ (moved / np.linalg.norm(moved))
        found = {one.id: one.score for one in ranking.documents}
        assert [found[one.id] for one in cars.documents] == pytest.approx(expected.tolist(), abs=1e-3)
    assert ranked(name, Case(Query("q", "cars"), cars.encoded, cars.shortlist, cars.collection)).ids == (
        frozen_ranking(cars).ids
    )


def test_a_bi_encoder_searches_for_itself(
    collection: Collection, plain_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCISE_CACHE", str(tmp_path))
    documents = [*list(collection.documents)[:20], Document("long", "filler words " * 300 + "a puppy needs a breeder")]
    small = Collection(collection.pipeline, documents, collection.reader)
    query = Query("q", documents[7].full_text)
    (case,) = suite_cases([query], small)
    ranking = ranked(f"dense={plain_checkpoint}", case)
    assert ranking.ids[0] == documents[7].id
    assert len(ranking.ids) == len(documents)
    kept = list((tmp_path / "dense").glob("*.npy"))
    assert len(kept) == 1
    assert ranked(f"dense={plain_checkpoint}", case) == ranking  # from the cache
    told = ranked(f"dense={plain_checkpoint};query=Find what is asked for. Query: {{query}}", case)
    assert [one.score for one in told.documents] != [one.score for one in ranking.documents]
    assert len(list((tmp_path / "dense").glob("*.npy"))) == 1  # documents are read as they were
    ranked(f"dense={plain_checkpoint};document=passage: {{document}}", case)
    assert len(list((tmp_path / "dense").glob("*.npy"))) == 2
    with pytest.raises(BackboneError, match="there is no folder '/no/such'"):
        ranked("dense=/no/such", case)


def test_a_cross_encoder_ranks_the_shortlist_again(cars: Case, plain_checkpoint: Path, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    CrossEncoder(str(plain_checkpoint), num_labels=1).save_pretrained(str(tmp_path / "cross"))
    ranking = ranked(f"cross-encoder={tmp_path / 'cross'}", cars)
    model = CrossEncoder(str(tmp_path / "cross"))
    scores = {one.id: float(model.predict([(cars.query.text, one.full_text)])[0]) for one in cars.documents}
    assert ranking.ids == sorted(scores, key=lambda id: -scores[id])
    few = ranked(f"cross-encoder={tmp_path / 'cross'};k=2", cars)
    assert set(few.ids[:2]) == {one.id for one in cars.documents[:2]}
    assert few.ids[2:] == [one.id for one in cars.documents[2:]]
    assert [one.score for one in few.documents] == sorted((one.score for one in few.documents), reverse=True)


def test_other_weights_have_another_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"one")
    first = model_fingerprint(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"three")
    assert first != model_fingerprint(str(tmp_path))
    assert model_fingerprint("owner/name") == "owner/name"


def test_a_language_model_rewrites_the_query(cases: list[Case], server: ChatServer) -> None:
    case, name = cases[0], f"llm-rewrite=tiny;url={server.url}"
    wanted = case.documents[30].full_text
    server.script = [lambda _: completion(f"Sure! {json.dumps({'query': wanted})} Anything else?")]
    ranking = ranked(name, case)
    assert ranking.ids[0] == case.documents[30].id
    assert not ranking.removed
    assert case.query.text in server.seen[0]["messages"][1]["content"]
    server.script = [lambda _: completion("I would rather not.")] * 2
    assert ranked(name, case).ids == frozen_ranking(case).ids
    assert len(server.seen) == 3


def test_a_language_model_strikes_candidates_out(cars: Case, server: ChatServer) -> None:
    def judge(body: dict[str, Any]) -> tuple[int, dict[str, str], str]:
        """Reads what is shown, as a good model would."""
        lines = [line for line in body["messages"][1]["content"].splitlines() if line.startswith("[")]
        return completion(json.dumps({"ruled_out": [line[1 : line.index("]")] for line in lines if "Tesla" in line]}))

    server.script = [judge]
    ranking = ranked(f"llm-judge=tiny;url={server.url}", cars)
    assert set(ranking.removed) == {"modely", "model3"}
    assert ranking.ids == [id for id in frozen_ranking(cars).ids if id not in ("modely", "model3")]
    server.script = [judge]
    ranked(f"llm-judge=tiny;url={server.url};k=1;words=2", cars)
    shown = server.seen[-1]["messages"][1]["content"]
    assert "[2]" not in shown


def test_an_endpoint_that_is_missing_or_refuses_is_a_sentence(
    cars: Case, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("EXCISE_LLM_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(InvalidInput, match="needs the base address of an endpoint"):
        ranked("llm-judge=tiny", cars)
    monkeypatch.setenv("EXCISE_LLM_URL", server.url)
    server.script = [lambda _: (401, {}, '{"error": {"message": "no key"}}')]
    with pytest.raises(LanguageModelError, match=r"does not answer for 'tiny'.*no key"):
        ranked("llm-judge=tiny", cars)

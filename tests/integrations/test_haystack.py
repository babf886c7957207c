"""The drop-in for Haystack, in Haystack's own hands."""

from __future__ import annotations

import copy

import pytest

pytest.importorskip("haystack", reason="needs the extra haystack")

from cars import CARS, CLEAR, EXCLUDING, PLAIN
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from excise.errors import InvalidInput
from excise.integrations.haystack import ExciseRanker
from excise.search.operator import Excise


def found(scored: bool = True) -> list[Document]:
    return [
        Document(id=car.id, content=car.text, meta={"title": car.title}, score=car.score if scored else None)
        for car in CARS
    ]


def ids(documents: list[Document]) -> list[str]:
    return [document.id for document in documents]


@pytest.mark.parametrize("scored", [True, False])
def test_what_is_excluded_is_taken_out_and_told(judge: Excise, scored: bool) -> None:
    documents = found(scored)
    before = copy.deepcopy(documents)
    answer = ExciseRanker(operator=judge).run(query=EXCLUDING, documents=documents)
    assert ids(answer["documents"]) == list(CLEAR)
    assert [one.score for one in answer["documents"]] == [one.score for one in before if one.id in CLEAR]
    assert set(ids(answer["removed"])) == {"y", "three"}
    assert {one.meta["excise"]["status"] for one in answer["documents"]} == {"kept"}
    assert {one.meta["excise"]["status"] for one in answer["removed"]} == {"removed"}
    assert documents == before


def test_without_an_exclusion_the_same_documents_come_back(judge: Excise) -> None:
    documents = found()
    ranker = ExciseRanker(operator=judge)
    answer = ranker.run(query=PLAIN, documents=documents)
    assert answer["documents"] is documents
    assert answer["removed"] == []
    assert ranker.run(query=PLAIN, documents=documents, top_k=2)["documents"][1] is documents[1]


def test_a_run_may_name_its_own_topics(judge: Excise) -> None:
    ranker = ExciseRanker(operator=judge, exclude=["Tesla"], top_k=2)
    assert ids(ranker.run(query=PLAIN, documents=found())["documents"]) == ["leaf", "zoe"]
    unlike = ranker.run(query=PLAIN, documents=found(), exclude=["China"], top_k=6)
    assert unlike["documents"][0].id == "y"
    assert len(ranker.run(query=PLAIN, documents=found(), exclude=[], top_k=6)["documents"]) == 6


def test_documents_without_text_stay(judge: Excise) -> None:
    blank = Document(id="picture", content=None)
    answer = ExciseRanker(operator=judge).run(query=EXCLUDING, documents=[blank, *found()])
    assert ids(answer["documents"]) == [*CLEAR, "picture"]


def test_in_a_pipeline_that_was_written_and_read_again() -> None:
    """Behind BM25, with its own models: nothing but plain values is in the YAML."""
    store = InMemoryDocumentStore()
    store.write_documents(found(scored=False))
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store))
    pipeline.add_component("excise", ExciseRanker(top_k=4))
    pipeline.connect("retriever.documents", "excise.documents")
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["excise.integrations.haystack"])
    again.get_component("retriever").document_store.write_documents(found(scored=False), policy="overwrite")
    for one in (pipeline, again):
        answer = one.run({"retriever": {"query": EXCLUDING}, "excise": {"query": EXCLUDING}})["excise"]
        assert set(ids(answer["documents"])) == set(CLEAR)
        assert set(ids(answer["removed"])) == {"y", "three"}


def test_an_operator_cannot_be_written(judge: Excise) -> None:
    with pytest.raises(InvalidInput, match="name a preset instead"):
        ExciseRanker(operator=judge).to_dict()


def test_a_preset_is_checked_when_it_is_loaded() -> None:
    with pytest.raises(InvalidInput, match="unknown preset 'best'"):
        ExciseRanker(preset="best").warm_up()

"""The drop-ins for LangChain, in LangChain's own hands."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra langchain")

from cars import CARS, CLEAR, EXCLUDING, PLAIN
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever

from excise.errors import InvalidInput
from excise.integrations.langchain import ExciseCompressor, ExciseRetriever
from excise.search.operator import Excise


def found(scored: bool = False) -> list[Document]:
    return [
        Document(car.text, id=car.id, metadata={"title": car.title} | ({"score": car.score} if scored else {}))
        for car in CARS
    ]


class Shelf(BaseRetriever):
    """A first stage that finds the same documents for every query."""

    documents: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        del query, run_manager
        return self.documents


def ids(documents: Any) -> list[str | None]:
    return [document.id for document in documents]


@pytest.mark.parametrize("scored", [False, True])
def test_the_compressor_takes_out_what_is_excluded(judge: Excise, scored: bool) -> None:
    documents = found(scored)
    before = copy.deepcopy(documents)
    compressor = ExciseCompressor(operator=judge)
    assert isinstance(compressor, BaseDocumentCompressor)
    kept = compressor.compress_documents(documents, EXCLUDING)
    assert ids(kept) == list(CLEAR)
    assert all(document.metadata["excise"]["status"] == "kept" for document in kept)
    assert documents == before


def test_without_an_exclusion_the_same_documents_come_back(judge: Excise) -> None:
    documents = found()
    compressor = ExciseCompressor(operator=judge)
    assert compressor.compress_documents(documents, PLAIN) is documents
    assert compressor.compress_documents([], EXCLUDING) == []
    cut = ExciseCompressor(operator=judge, top_n=2).compress_documents(documents, PLAIN)
    assert cut[0] is documents[0]
    assert len(cut) == 2


def test_asynchronously(judge: Excise) -> None:
    compressor = ExciseCompressor(operator=judge, exclude=["Tesla"], top_n=3)
    assert ids(asyncio.run(compressor.acompress_documents(found(), PLAIN))) == list(CLEAR[:3])
    retriever = ExciseRetriever(operator=judge, retriever=Shelf(documents=found()), k=3)
    assert ids(asyncio.run(retriever.ainvoke(EXCLUDING))) == list(CLEAR[:3])


def test_what_was_removed_is_told(judge: Excise) -> None:
    told: list[tuple[str, list[Document]]] = []
    compressor = ExciseCompressor(operator=judge, on_removed=lambda query, gone: told.append((query, gone)))
    compressor.compress_documents(found(), PLAIN)
    assert told == []
    compressor.compress_documents(found(), EXCLUDING)
    [(query, gone)] = told
    assert query == EXCLUDING
    assert set(ids(gone)) == {"y", "three"}
    assert all(one.metadata["excise"]["status"] == "removed" for one in gone)


def test_documents_without_ids_titles_or_text(judge: Excise) -> None:
    documents = [Document(car.text) for car in CARS] + [Document("")]
    kept = ExciseCompressor(operator=judge, exclude="Tesla").compress_documents(documents, PLAIN)
    texts = [document.page_content for document in kept]
    assert "" in texts
    assert CARS[0].text not in texts


def test_a_retriever_behind_another_one(judge: Excise) -> None:
    """In a chain, with callbacks: the first stage's run is a child of ours."""
    started: list[Any] = []

    class Runs(BaseCallbackHandler):
        def on_retriever_start(self, serialized: Any, query: str, **run: Any) -> None:
            started.append((serialized, query, run["parent_run_id"]))

    shelf = Shelf(documents=found())
    chain = ExciseRetriever(operator=judge, retriever=shelf) | (lambda documents: ids(documents))
    assert chain.invoke(EXCLUDING, config={"callbacks": [Runs()]}) == list(CLEAR)
    assert [query for _, query, _ in started] == [EXCLUDING, EXCLUDING]
    assert started[1][2] is not None
    assert ExciseRetriever(operator=judge, retriever=shelf).invoke(PLAIN)[0] is shelf.documents[0]


def test_a_retriever_over_an_index(garage: Excise) -> None:
    gone: list[Document] = []
    retriever = ExciseRetriever(operator=garage, k=4, on_removed=lambda _, removed: gone.extend(removed))
    kept = retriever.invoke(EXCLUDING)
    assert sorted(ids(kept), key=str) == sorted(CLEAR)
    assert kept[0].metadata["score"] >= kept[1].metadata["score"]
    assert {"title", "score", "excise"} == set(kept[0].metadata)
    assert set(ids(gone)) == {"y", "three"}
    plain = retriever.invoke(PLAIN)
    assert ids(plain) == [hit.id for hit in garage.search(PLAIN, k=4).hits]
    assert retriever.batch([PLAIN, EXCLUDING]) == [plain, kept]


def test_what_bad_input_gets(judge: Excise) -> None:
    with pytest.raises(InvalidInput, match="query is empty"):
        ExciseCompressor(operator=judge).compress_documents(found(), " ")
    with pytest.raises(ValueError, match="instance of Excise"):
        ExciseCompressor(operator="minilm")  # type: ignore[arg-type]

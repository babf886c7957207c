"""LangChain: a document compressor for any retriever, and a retriever."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from excise.extras import need
from excise.integrations.first_stage import METADATA_KEY, Candidate, Verdict, sift
from excise.results import Hit, Removed, Status
from excise.search.operator import Excise

need("the LangChain drop-in", "langchain", "langchain_core")

from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks  # noqa: E402
from langchain_core.documents import BaseDocumentCompressor, Document  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from pydantic import ConfigDict  # noqa: E402


class ExciseCompressor(BaseDocumentCompressor):
    """Takes what a query excludes out of the documents that any retriever found.

    A query that excludes nothing gets the very same documents back, in their order. Else documents are copies with
    their status in ``metadata["excise"]``, in the order that they came in, less what was removed.

    Parameters
    ----------
    operator
        what judges: ``excise.load()``. It needs no index.
    exclude
        topics to rule out in every query; None lets the detector read them from each.
    top_n
        how many documents are kept at most.
    title_key, score_key
        where metadata has a document's title, and its score where the retriever wrote one; scores that do not fall
        along the documents are left alone.
    on_removed
        called with the query and the documents that were removed.

    Examples
    --------
    >>> import excise
    >>> cars = ["The Tesla Model 3 is an electric sedan.", "The Nissan Leaf is an electric hatchback.",
    ...         "The Renault Zoe is a small electric car.", "BYD's Dolphin is an electric hatchback."]
    >>> compressor = ExciseCompressor(operator=excise.load())
    >>> found = compressor.compress_documents([Document(text) for text in cars], "electric cars, but not Tesla")
    >>> [document.page_content.split()[1] for document in found]
    ['Nissan', 'Renault', 'Dolphin']
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    operator: Excise
    exclude: list[str] | str | None = None
    top_n: int | None = None
    title_key: str = "title"
    score_key: str = "score"
    on_removed: Callable[[str, list[Document]], None] | None = None

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,  # noqa: ARG002 - LangChain's signature
    ) -> Sequence[Document]:
        """The documents, less what the query excludes."""
        sifted = sift(self.operator, query, [self._candidate(one) for one in documents], self.exclude, self.top_n)
        if sifted is None:
            return documents if self.top_n is None or self.top_n >= len(documents) else documents[: self.top_n]
        if self.on_removed is not None and sifted.removed:
            self.on_removed(query, [_marked(documents[one.position], one) for one in sifted.removed])
        return [_marked(documents[one.position], one) for one in sifted.kept]

    def _candidate(self, document: Document) -> Candidate:
        title, score = document.metadata.get(self.title_key), document.metadata.get(self.score_key)
        number = float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None
        return Candidate(document.page_content, title if isinstance(title, str) else "", number)


class ExciseRetriever(BaseRetriever):
    """Searches with exclusions: over an excise index, or behind another retriever.

    Parameters
    ----------
    operator
        what judges and, where no other retriever is named, searches: ``excise.load("my-index")``.
    retriever
        another first stage: its documents are judged as by :class:`ExciseCompressor`. Let it find more than ``k``.
    k
        how many documents are returned at most.
    exclude
        topics to rule out in every query; None lets the detector read them from each.
    on_removed
        called with the query and the documents that were removed; those of an excise index have the passage that
        convicts them in place of the whole text.

    Examples
    --------
    >>> import excise
    >>> search = excise.load()
    >>> report = search.index([
    ...     {"id": "model3", "text": "The Tesla Model 3 is an electric sedan."},
    ...     {"id": "leaf", "text": "The Nissan Leaf is an electric hatchback."},
    ...     {"id": "zoe", "text": "The Renault Zoe is a small electric car."},
    ...     {"id": "dolphin", "text": "BYD's Dolphin is an electric hatchback."},
    ... ])
    >>> found = ExciseRetriever(operator=search, k=3).invoke("electric cars, but not Tesla")
    >>> sorted(document.id for document in found)
    ['dolphin', 'leaf', 'zoe']
    """

    operator: Excise
    retriever: BaseRetriever | None = None
    k: int = 10
    exclude: list[str] | str | None = None
    on_removed: Callable[[str, list[Document]], None] | None = None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        if self.retriever is not None:
            found = self.retriever.invoke(query, config={"callbacks": run_manager.get_child()})
            compressor = ExciseCompressor(
                operator=self.operator, exclude=self.exclude, top_n=self.k, on_removed=self.on_removed
            )
            return list(compressor.compress_documents(found, query))
        result = self.operator.search(query, self.k, self.exclude)
        if self.on_removed is not None and result.removed:
            self.on_removed(query, [_from_index(one, one.passage or "", "removed") for one in result.removed])
        return [_from_index(hit, hit.text, hit.status) for hit in result.hits]


def _marked(document: Document, verdict: Verdict) -> Document:
    """A copy of a document with its verdict; what the first stage returned is never written to."""
    return document.model_copy(update={"metadata": {**document.metadata, METADATA_KEY: verdict.as_dict()}})


def _from_index(one: Hit | Removed, text: str, status: Status) -> Document:
    verdict = Verdict(one.frozen_rank, status, one.score, one.evidence, one.probability, one.passage)
    metadata = {"title": one.title, "score": one.score, METADATA_KEY: verdict.as_dict()}
    return Document(id=one.id, page_content=text, metadata=metadata)

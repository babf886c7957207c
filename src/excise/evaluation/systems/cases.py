"""What systems work on: a query with its frozen shortlist, made once and shared by all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.engines.local.engine import LocalEngine
from excise.errors import BadIndex
from excise.evaluation.systems.lexical import Lexical, words
from excise.results import Topic
from excise.search.judging import wanted_part
from excise.search.operator import Excise
from excise.search.shortlist import Shortlist, maxsim_of
from excise.suites.suites import Query
from excise.vectors.encoded import EncodedDocuments, EncodedQuery
from excise.vectors.ragged import Vectors

DEPTH = 100  # how many candidates of the frozen index every system sees


@dataclass(frozen=True, eq=False)
class Collection:
    """What the systems of one run share: the operator as it ships, and indexes over the texts, made at first use.

    Attributes
    ----------
    operator
        the shipped operator; its backbone encodes everything.
    load_documents
        every document that can be found, for BM25.
    depth
        how many documents a first stage returns.
    """

    operator: Excise
    load_documents: Callable[[], Sequence[Document]]
    depth: int = DEPTH

    @property
    def backbone(self) -> Backbone:
        return self.operator.backbone

    @cached_property
    def lexical(self) -> Lexical:
        return Lexical(self.load_documents())


@dataclass(frozen=True, eq=False)
class Case:
    """A query and its frozen shortlist, best first. Vectors, topics and words are made when a system asks for them.

    Attributes
    ----------
    query, encoded
        the suite's query, and its token vectors.
    documents, scores
        the frozen shortlist.
    load_vectors
        gives the candidates' token vectors.
    collection
        what all cases share.
    """

    query: Query
    encoded: EncodedQuery
    documents: Sequence[Document]
    scores: NDArray[np.float64]
    load_vectors: Callable[[], EncodedDocuments]
    collection: Collection
    _named: dict[tuple[str, ...], list[Vectors]] = field(default_factory=dict, repr=False)

    @cached_property
    def shortlist(self) -> Shortlist:
        return Shortlist(self.documents, self.load_vectors(), self.scores)

    @cached_property
    def words(self) -> list[list[str]]:
        """The words of each candidate, without stop words."""
        return words([document.full_text for document in self.documents])

    @cached_property
    def frozen_ranks(self) -> dict[str, int]:
        """Each candidate's place in the frozen ranking."""
        return {document.id: rank for rank, document in enumerate(self.documents, 1)}

    def named(self, topics: Sequence[Topic]) -> list[Vectors]:
        """The token vectors of topics, each encoded by itself, and once."""
        texts = tuple(topic.text for topic in topics)
        if texts not in self._named:
            self._named[texts] = self.collection.backbone.encode_topics(texts)
        return self._named[texts]

    def wanted(self, topics: Sequence[Topic]) -> Vectors:
        """The query's token vectors less those of the topics."""
        return wanted_part(self.query.text, self.encoded, topics)


def suite_collection(operator: Excise) -> Collection:
    """The collection behind an operator's index, which may come later."""
    return Collection(operator, lambda: (engine := _engine(operator)).fetch(engine.ids()))


def suite_cases(queries: Sequence[Query], collection: Collection) -> Iterator[Case]:
    """Search the frozen index for each query, once, and yield its case."""
    for query in queries:
        engine = _engine(collection.operator)
        encoded = collection.backbone.encode_query(query.text)
        found = engine.search(encoded.vectors, collection.depth)
        ids = [candidate.id for candidate in found]
        scores = np.array([candidate.score for candidate in found], dtype=np.float64)
        yield Case(query, encoded, engine.fetch(ids), scores, partial(engine.vectors, ids), collection)


def _engine(operator: Excise) -> LocalEngine:
    if not isinstance(operator.engine, LocalEngine):
        raise BadIndex("systems are measured on a local index, and there is none.")
    return operator.engine


def reranked_case(query: Query, documents: Sequence[Document], collection: Collection) -> Case:
    """A case whose candidates are given rather than found: MaxSim ranks them."""
    encoded = collection.backbone.encode_query(query.text)
    vectors = collection.backbone.encode_documents([document.full_text for document in documents])
    scores = maxsim_of(encoded.vectors, vectors)
    order = [int(i) for i in np.argsort(-scores, kind="stable")]
    ranked = [documents[i] for i in order]
    return Case(query, encoded, ranked, scores[order], partial(vectors.taken, order), collection)

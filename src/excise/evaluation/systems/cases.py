"""What systems work on: a query with its frozen shortlist, made once and shared by all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.engines.base import Reader
from excise.errors import BadIndex
from excise.evaluation.systems.lexical import Lexical, words
from excise.evaluation.systems.spec import DEPTH
from excise.results import Detection, Topic
from excise.rules.decision import Floats
from excise.search.pipeline import Pipeline, named, shortlisted
from excise.search.stages import SearchVectors, Shortlist
from excise.suites.suites import Query
from excise.vectors.encoded import EncodedQuery


@dataclass(frozen=True, eq=False)
class Collection:
    """What the systems of one run share: the pipeline as it ships, one moment of the index, and all texts.

    Attributes
    ----------
    pipeline
        the shipped one; its backbone encodes everything.
    documents
        every document that can be found, for BM25.
    reader
        the index; None where candidates are given rather than found.
    depth
        how many documents a first stage returns.
    """

    pipeline: Pipeline
    documents: Iterable[Document]
    reader: Reader | None = None
    depth: int = DEPTH

    @property
    def backbone(self) -> Backbone:
        return self.pipeline.backbone

    @cached_property
    def lexical(self) -> Lexical:
        """BM25 over all documents."""
        return Lexical(list(self.documents))


@dataclass(frozen=True, eq=False)
class Case:
    """A query and its frozen shortlist, best first.

    Attributes
    ----------
    query, encoded
        the suite's query, and its token vectors.
    shortlist
        the best candidates of the frozen index, with their vectors.
    collection
        what all cases share.
    """

    query: Query
    encoded: EncodedQuery
    shortlist: Shortlist
    collection: Collection
    _searches: dict[tuple[Topic, ...], SearchVectors] = field(default_factory=dict, repr=False)

    @property
    def documents(self) -> Sequence[Document]:
        """The candidates."""
        return self.shortlist.documents

    @property
    def scores(self) -> Floats:
        """The candidates' scores."""
        return self.shortlist.scores

    @cached_property
    def words(self) -> list[list[str]]:
        """The words of each candidate, without stop words."""
        return words([document.full_text for document in self.documents])

    @cached_property
    def frozen_ranks(self) -> dict[str, int]:
        """Each candidate's place in the frozen ranking."""
        return {document.id: rank for rank, document in enumerate(self.documents, 1)}

    def search(self, detection: Detection) -> SearchVectors:
        """The query and what it rules out as vectors; topics are encoded once, however many systems ask."""
        if detection.topics not in self._searches:
            self._searches[detection.topics] = self.collection.pipeline.with_topics([detection], [self.encoded])[0]
        return self._searches[detection.topics]


def suite_cases(queries: Sequence[Query], collection: Collection) -> Iterator[Case]:
    """Search the frozen index for each query, once, and yield its case."""
    reader = collection.reader
    if reader is None:
        raise BadIndex("systems are measured on an index, and there is none.")
    for query in queries:
        encoded = collection.backbone.encode_query(query.text)
        found = reader.search([encoded.vectors], collection.depth, vectors=True)[0]
        yield Case(query, encoded, shortlisted(found), collection)


def reranked_case(query: Query, documents: Sequence[Document], collection: Collection) -> Case:
    """A case whose candidates are given rather than found: MaxSim ranks them."""
    search = collection.pipeline.encode([named(query.text, ())])[0]
    given = collection.pipeline.given(search, documents, None)
    order = [int(i) for i in np.argsort(-given.scores, kind="stable")]
    ranked = Shortlist([documents[i] for i in order], given.vectors.taken(order), given.scores[order])
    return Case(query, search.query, ranked, collection)

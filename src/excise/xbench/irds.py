"""A suite with the conventions of ``ir_datasets``, without depending on it.

The records have the same fields (``doc_id``, ``query_id``, ``relevance``), so what works on an ``ir_datasets`` dataset
(``ir_measures.calc_aggregate(measures, dataset.qrels_iter(), run)``) works on a suite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from excise.suites.suites import Suite, load_suite


class Doc(NamedTuple):
    """A document, in the fields of ir_datasets' BEIR documents."""

    doc_id: str
    text: str
    title: str

    def default_text(self) -> str:
        return f"{self.title} {self.text}".strip()


class SuiteQuery(NamedTuple):
    """A query with its metadata: tier, length, form, wanted, excluded and more."""

    query_id: str
    text: str
    metadata: Mapping[str, Any]

    def default_text(self) -> str:
        return self.text


class Qrel(NamedTuple):
    """A judgement; a document that a query rules out has relevance -1 in ``negatives_iter``."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class Dataset:
    """One split of a suite."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    def docs_iter(self) -> Iterator[Doc]:
        for document in self._suite.documents():
            yield Doc(document.id, document.text, document.title)

    def queries_iter(self) -> Iterator[SuiteQuery]:
        for query in self._suite.queries:
            yield SuiteQuery(query.id, query.text, query.metadata)

    def qrels_iter(self) -> Iterator[Qrel]:
        for query, judged in self._suite.qrels.items():
            for document, relevance in judged.items():
                yield Qrel(query, document, relevance)

    def negatives_iter(self) -> Iterator[Qrel]:
        """What each query rules out, as judgements of -1."""
        for query, ruled_out in self._suite.negatives.items():
            for document in sorted(ruled_out):
                yield Qrel(query, document, -1)


def dataset(folder: str | Path, split: str) -> Dataset:
    """Open a suite.

    Examples
    --------
    >>> own = dataset("own", "dev")
    >>> next(own.qrels_iter())
    Qrel(query_id='dog-breeds-q01', doc_id='dog-breeds-03', relevance=1, iteration='0')
    """
    return Dataset(load_suite(folder, split))

"""Suites on disk: BEIR's layout with what each query rules out.

A suite is a folder::

    corpus.jsonl           {"_id", "title", "text"}
    queries.jsonl          {"_id", "text", "metadata"}          the queries of every split
    qrels/<split>.tsv      query-id  corpus-id  score           what a query wants
    negatives/<split>.tsv  query-id  corpus-id                  what a query rules out; the file is optional
    graded/<split>.tsv     query-id  corpus-id  grade           what else covers what it rules out (2), mentions it (1)
                                                                or does neither (0); the file is optional

Everything is checked while it is read, and what is wrong is told in one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from excise.documents import Document
from excise.errors import InvalidInput, SuiteError
from excise.suites import bundled
from excise.suites.corpus_file import CorpusFile, read_corpus_file
from excise.suites.jsonlines import id_of, read_objects, read_text_lines
from excise.text import clean

BUILT_IN = "own"


@dataclass(frozen=True)
class Query:
    """A query of a suite, with all that the suite says about it.

    Examples
    --------
    >>> query = Query("q1", "electric cars, not Tesla", {"tier": "T1", "excluded": ["Tesla"]})
    >>> query.tier, query.excluded
    ('T1', ('Tesla',))
    """

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tier(self) -> str | None:
        """How the exclusion is worded; None where the suite does not say."""
        return self.metadata.get("tier")

    @property
    def excluded(self) -> tuple[str, ...]:
        """The true excluded topics; empty where the query excludes nothing, or the suite does not say."""
        return tuple(self.metadata.get("excluded") or ())


@dataclass(frozen=True)
class Suite:
    """One split of a suite.

    Attributes
    ----------
    name
        the folder's name, or "own" for the built-in suite.
    folder, split
        where it was read from.
    corpus
        the file of documents. It was read with the suite: :meth:`documents` has them.
    queries
        the queries of the split, in the order of the file.
    qrels
        by query id, the score of every judged document; over 0 is wanted.
    negatives
        by query id, the documents that the query rules out. Queries that rule nothing out are not in it.
    corpus_file
        what was read of the corpus; without it the file is read when it is first asked for.
    graded
        by query id, how far documents cover what the query rules out: 2, 1 or 0. Empty where nobody graded.
    """

    name: str
    folder: Path
    split: str
    corpus: Path
    queries: tuple[Query, ...]
    qrels: dict[str, dict[str, int]]
    negatives: dict[str, frozenset[str]]
    corpus_file: CorpusFile | None = field(default=None, repr=False, compare=False)
    graded: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def corpus_fingerprint(self) -> str:
        """A digest of the file of documents: equal for equal files."""
        return self._file.fingerprint

    def documents(self) -> Iterable[Document]:
        """All documents of the corpus, in the order of the file."""
        return self._file.documents()

    @cached_property
    def _file(self) -> CorpusFile:
        return self.corpus_file or read_corpus_file(self.corpus)


def load_suite(folder: str | Path, split: str, limit: int | None = None) -> Suite:
    """Read and check one split of a suite.

    Parameters
    ----------
    folder
        the suite's folder, or "own" for the suite that ships in the package (``Path("own")`` is a folder).
    split
        which ``qrels/<split>.tsv`` to read. Queries with a row there or in the split's negatives belong to it.
    limit
        keep only the first so many queries.

    Raises
    ------
    SuiteError
        where a file is missing, malformed, empty, or names a query or document that there is not.

    Examples
    --------
    >>> suite = load_suite("own", "dev", limit=3)
    >>> suite.queries[0].text, suite.queries[0].excluded
    ('good family dogs other than retrievers', ('retrievers',))
    >>> load_suite("own", "test")
    Traceback (most recent call last):
        ...
    excise.errors.SuiteError: the suite 'own' has no split 'test'; it has dev and train.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise InvalidInput(f"limit must be a whole number of at least 1, got {limit!r}.")
    with bundled.suite() if folder == BUILT_IN else nullcontext(Path(folder)) as path:
        suite = _read_suite(path, split)
    return suite if limit is None else _first(suite, limit)


def _read_suite(folder: Path, split: str) -> Suite:
    name = folder.resolve().name
    if not folder.is_dir():
        raise SuiteError(f"{folder}: no such folder; a suite is a folder, or {BUILT_IN!r} for the built-in one.")
    if not (folder / "qrels").is_dir():
        raise SuiteError(f"{folder / 'qrels'}: no such folder, so the suite has no splits.")
    splits = sorted(path.stem for path in (folder / "qrels").glob("*.tsv"))
    if split not in splits:
        raise SuiteError(f"the suite {name!r} has no split {split!r}; it has {_listed(splits)}.")

    queries = _read_queries(folder / "queries.jsonl")
    corpus = read_corpus_file(folder / "corpus.jsonl")
    qrels = _read_qrels(folder / "qrels" / f"{split}.tsv", queries, corpus.ids)
    negatives = _read_negatives(folder / "negatives" / f"{split}.tsv", queries, corpus.ids, qrels)
    graded = _read_graded(folder / "graded" / f"{split}.tsv", queries, corpus.ids)
    chosen = tuple(query for query in queries.values() if query.id in qrels or query.id in negatives)
    if not chosen:
        raise SuiteError(f"{folder / 'qrels' / f'{split}.tsv'}: the split {split!r} is empty.")
    return Suite(name, folder, split, corpus.path, chosen, qrels, negatives, corpus, graded)


def _first(suite: Suite, limit: int) -> Suite:
    queries = suite.queries[:limit]
    kept = {query.id for query in queries}
    return replace(
        suite,
        queries=queries,
        qrels={id: rows for id, rows in suite.qrels.items() if id in kept},
        negatives={id: rows for id, rows in suite.negatives.items() if id in kept},
        graded={id: rows for id, rows in suite.graded.items() if id in kept},
    )


def _read_queries(path: Path) -> dict[str, Query]:
    queries: dict[str, Query] = {}
    for line, record in read_objects(path, SuiteError):
        query = _query(record, line.where)
        if query.id in queries:
            raise SuiteError(f"{line.where}: the query id {query.id!r} was already used.")
        queries[query.id] = query
    return queries


def _query(record: dict[str, Any], where: str) -> Query:
    id, text, metadata = id_of(record), record.get("text"), record.get("metadata") or {}
    if id is None:
        raise SuiteError(f"{where}: a query needs an '_id' that is a text or a whole number.")
    if not isinstance(text, str) or not text.strip():
        raise SuiteError(f"{where}: the query {id!r} needs a non-empty 'text'.")
    if not isinstance(metadata, Mapping):
        raise SuiteError(f"{where}: the metadata of query {id!r} must be an object, got {metadata!r}.")
    excluded = metadata.get("excluded") or []
    if not isinstance(excluded, list) or not all(isinstance(topic, str) for topic in excluded):
        raise SuiteError(f"{where}: metadata.excluded of query {id!r} must be a list of texts, got {excluded!r}.")
    if not isinstance(metadata.get("tier", ""), str | None):
        raise SuiteError(f"{where}: metadata.tier of query {id!r} must be a text, got {metadata['tier']!r}.")
    return Query(id, clean(text), metadata)


def _read_qrels(path: Path, queries: Mapping[str, Query], documents: frozenset[str]) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for where, (query, document, score) in _rows(path, ("query-id", "corpus-id", "score")):
        if not re.fullmatch(r"-?[0-9]{1,9}", score):
            raise SuiteError(f"{where}: the score must be a whole number, got {score!r}.")
        _check_ids(where, query, document, queries, documents)
        if qrels.setdefault(query, {}).setdefault(document, int(score)) != int(score):
            raise SuiteError(f"{where}: query {query!r} and document {document!r} already have another score.")
    return qrels


def _read_negatives(
    path: Path,
    queries: Mapping[str, Query],
    documents: frozenset[str],
    qrels: Mapping[str, Mapping[str, int]],
) -> dict[str, frozenset[str]]:
    if not path.exists():
        return {}
    negatives: dict[str, set[str]] = {}
    for where, (query, document) in _rows(path, ("query-id", "corpus-id")):
        _check_ids(where, query, document, queries, documents)
        if qrels.get(query, {}).get(document, 0) > 0:
            raise SuiteError(f"{where}: query {query!r} both wants and rules out document {document!r}.")
        negatives.setdefault(query, set()).add(document)
    return {query: frozenset(ruled_out) for query, ruled_out in negatives.items()}


def _read_graded(path: Path, queries: Mapping[str, Query], documents: frozenset[str]) -> dict[str, dict[str, int]]:
    if not path.exists():
        return {}
    graded: dict[str, dict[str, int]] = {}
    for where, (query, document, grade) in _rows(path, ("query-id", "corpus-id", "grade")):
        if grade not in ("0", "1", "2"):
            raise SuiteError(f"{where}: the grade must be 0, 1 or 2, got {grade!r}.")
        _check_ids(where, query, document, queries, documents)
        if graded.setdefault(query, {}).setdefault(document, int(grade)) != int(grade):
            raise SuiteError(f"{where}: query {query!r} and document {document!r} already have another grade.")
    return graded


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """The rows of a table with tabs, each with its place. A header is passed over."""
    for line in read_text_lines(path, SuiteError):
        cells = [cell.strip() for cell in line.text.split("\t")]
        if line.number == 1 and cells == list(columns):
            continue
        if len(cells) != len(columns) or not all(cells):
            raise SuiteError(
                f"{line.where}: a row must be {', '.join(columns)} with tabs between, got {line.text.strip()[:80]!r}."
            )
        yield line.where, cells


def _check_ids(where: str, query: str, document: str, queries: Mapping[str, Query], documents: frozenset[str]) -> None:
    if query not in queries:
        raise SuiteError(f"{where}: the query {query!r} is not in queries.jsonl.")
    if document not in documents:
        raise SuiteError(f"{where}: the document {document!r} is not in corpus.jsonl.")


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:]))) or "none"

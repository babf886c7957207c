"""Evaluation data on disk: suites in BEIR's layout with what each query rules out, and files of pairs.

A suite is a folder::

    corpus.jsonl           {"_id", "title", "text"}
    queries.jsonl          {"_id", "text", "metadata"}          the queries of every split
    qrels/<split>.tsv      query-id  corpus-id  score           what a query wants
    negatives/<split>.tsv  query-id  corpus-id                  what a query rules out; the file is optional

Everything is checked while it is read, and what is wrong is told in one sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from excise.errors import ExciseError, InvalidInput
from excise.suites import bundled

BUILT_IN = "own"
PairKind = Literal["boolean", "nevir"]

# A document line that begins with a plain id: read without parsing the (long) text behind it.
_LEADING_ID = re.compile(r'\s*\{\s*"_id"\s*:\s*"([^"\\]+)"\s*[,}]')
_PAIR_FIELDS: dict[PairKind, tuple[str, ...]] = {
    "boolean": ("text", "positive", "negative"),
    "nevir": ("q1", "q2", "doc1", "doc2"),
}


class SuiteError(ExciseError, ValueError):
    """A suite or a file of pairs that cannot be used; the message names the file, and the line where there is one."""


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
        the file of documents, to be read by :class:`excise.documents.Corpus`.
    queries
        the queries of the split, in the order of the file.
    qrels
        by query id, the score of every judged document; over 0 is wanted.
    negatives
        by query id, the documents that the query rules out. Queries that rule nothing out are not in it.
    """

    name: str
    folder: Path
    split: str
    corpus: Path
    queries: tuple[Query, ...]
    qrels: dict[str, dict[str, int]]
    negatives: dict[str, frozenset[str]]


@dataclass(frozen=True)
class Preference:
    """A query, and which of two texts has to score higher for it."""

    query: str
    preferred: str
    other: str


@dataclass(frozen=True)
class Pair:
    """What is counted in pairwise accuracy: right when every one of its preferences holds."""

    id: str
    preferences: tuple[Preference, ...]


@dataclass(frozen=True)
class PairSet:
    """A file of pairs: "boolean" with one preference each, or "nevir" with two."""

    name: str
    path: Path
    kind: PairKind
    pairs: tuple[Pair, ...]


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
    excise.suites.suites.SuiteError: the suite 'own' has no split 'test'; it has dev and train.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise InvalidInput(f"limit must be a whole number of at least 1, got {limit!r}.")
    with bundled.suite() if folder == BUILT_IN else nullcontext(Path(folder)) as path:
        suite = _read_suite(path, split)
    return suite if limit is None else _first(suite, limit)


def load_pairs(path: str | Path) -> PairSet:
    """Read and check a file of pairs, one JSON object a line.

    Parameters
    ----------
    path
        lines with ``text``, ``positive`` and ``negative`` ("boolean": the query wants the positive text), or with
        ``q1``, ``q2``, ``doc1`` and ``doc2`` ("nevir": q1 wants doc1, and q2 wants doc2). An ``_id`` or ``id`` names
        the pair; without one it is named by its line.
    """
    path = Path(path)
    kind: PairKind | None = None
    pairs: dict[str, Pair] = {}
    for number, record in _records(path):
        where = f"{path}, line {number}"
        found = _pair_kind(record, where)
        if kind is not None and found != kind:
            raise SuiteError(f"{where}: a {found} pair among {kind} pairs; a file holds one kind.")
        kind = found
        pair = _pair(record, kind, number, where)
        if pair.id in pairs:
            raise SuiteError(f"{where}: the pair id {pair.id!r} was already used.")
        pairs[pair.id] = pair
    if kind is None:
        raise SuiteError(f"{path}: holds no pairs.")
    return PairSet(path.stem, path, kind, tuple(pairs.values()))


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
    documents = _document_ids(folder / "corpus.jsonl")
    qrels = _read_qrels(folder / "qrels" / f"{split}.tsv", queries, documents)
    negatives = _read_negatives(folder / "negatives" / f"{split}.tsv", queries, documents, qrels)
    chosen = tuple(query for query in queries.values() if query.id in qrels or query.id in negatives)
    if not chosen:
        raise SuiteError(f"{folder / 'qrels' / f'{split}.tsv'}: the split {split!r} is empty.")
    return Suite(name, folder, split, folder / "corpus.jsonl", chosen, qrels, negatives)


def _first(suite: Suite, limit: int) -> Suite:
    queries = suite.queries[:limit]
    kept = {query.id for query in queries}
    return Suite(
        name=suite.name,
        folder=suite.folder,
        split=suite.split,
        corpus=suite.corpus,
        queries=queries,
        qrels={id: rows for id, rows in suite.qrels.items() if id in kept},
        negatives={id: rows for id, rows in suite.negatives.items() if id in kept},
    )


def _read_queries(path: Path) -> dict[str, Query]:
    queries: dict[str, Query] = {}
    for number, record in _records(path):
        where = f"{path}, line {number}"
        query = _query(record, where)
        if query.id in queries:
            raise SuiteError(f"{where}: the query id {query.id!r} was already used.")
        queries[query.id] = query
    return queries


def _query(record: Mapping[str, Any], where: str) -> Query:
    id, text, metadata = _id(record), record.get("text"), record.get("metadata") or {}
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
    return Query(id, text, metadata)


def _document_ids(path: Path) -> frozenset[str]:
    """The ids alone: whether the documents can be used is found out when they are indexed."""
    ids = set()
    for number, line in _lines(path):
        leading = _LEADING_ID.match(line)
        id = leading[1] if leading else _id(_parsed(line, path, number))
        if id is None:
            raise SuiteError(f"{path}, line {number}: a document needs an '_id' that is a text or a whole number.")
        ids.add(id)
    return frozenset(ids)


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


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """The rows of a table with tabs, each with its place. A header is passed over."""
    for number, line in _lines(path):
        cells = [cell.strip() for cell in line.split("\t")]
        if number == 1 and cells == list(columns):
            continue
        where = f"{path}, line {number}"
        if len(cells) != len(columns) or not all(cells):
            raise SuiteError(
                f"{where}: a row must be {', '.join(columns)} with tabs between, got {line.strip()[:80]!r}."
            )
        yield where, cells


def _check_ids(where: str, query: str, document: str, queries: Mapping[str, Query], documents: frozenset[str]) -> None:
    if query not in queries:
        raise SuiteError(f"{where}: the query {query!r} is not in queries.jsonl.")
    if document not in documents:
        raise SuiteError(f"{where}: the document {document!r} is not in corpus.jsonl.")


def _pair_kind(record: Mapping[str, Any], where: str) -> PairKind:
    for kind, names in _PAIR_FIELDS.items():
        if all(isinstance(record.get(name), str) and record[name].strip() for name in names):
            return kind
    wanted = " or ".join(", ".join(names) for names in _PAIR_FIELDS.values())
    raise SuiteError(f"{where}: a pair needs the texts {wanted}, got the fields {', '.join(record) or 'none'}.")


def _pair(record: Mapping[str, Any], kind: PairKind, number: int, where: str) -> Pair:
    id = f"line-{number}" if "_id" not in record and "id" not in record else _id(record)
    if id is None:
        raise SuiteError(f"{where}: a pair's '_id' must be a text or a whole number.")
    texts = [record[name] for name in _PAIR_FIELDS[kind]]
    if kind == "boolean":
        return Pair(id, (Preference(*texts),))
    first, second, one, other = texts
    return Pair(id, (Preference(first, one, other), Preference(second, other, one)))


def _id(record: Mapping[str, Any]) -> str | None:
    id = record.get("_id", record.get("id"))
    if isinstance(id, bool) or not isinstance(id, str | int) or not str(id).strip():
        return None
    return str(id)


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(path):
        yield number, _parsed(line, path, number)


def _parsed(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"{path}, line {number}: not valid JSON ({error}).") from None
    if not isinstance(record, dict):
        raise SuiteError(f"{path}, line {number}: must be a JSON object, got {type(record).__name__}.")
    return record


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    if not path.is_file():
        raise SuiteError(f"{path}: no such file.")
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                text = line.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                reason = f"{error.reason} at byte {error.start}"
                raise SuiteError(f"{path}, line {number}: not UTF-8 text ({reason}).") from None
            if text.strip():
                yield number, text


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:]))) or "none"

"""Graded labels: does a candidate cover the topic that a search ruled out?

JSON lines, one graded candidate each::

    {"id", "corpus", "query", "wanted", "topic", "kind", "document", "grade"}

``grade`` is 2 where the document covers the topic, 1 where it mentions it in passing, 0 where it does not deal with it;
``kind`` is "present" where the corpus has documents on the topic, and "foreign" where it has none. Rows that share
corpus, query, topic and kind belong to one search. The guide to grading lies beside the labels that ship with excise,
in ``excise/data/own/coverage``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from excise.errors import InvalidInput, SuiteError
from excise.search.inputs import named_topics
from excise.suites.corpus_file import CorpusFile, read_corpus_file
from excise.suites.jsonlines import Line, read_objects
from excise.text import clean

Grade = Literal[0, 1, 2]
TopicKind = Literal["present", "foreign"]
_TEXTS = ("corpus", "query", "wanted", "topic")


@dataclass(frozen=True)
class LabelledSearch:
    """A search whose candidates were graded.

    Attributes
    ----------
    id
        the id of its first label.
    corpus
        the name of the corpus that is searched.
    query, wanted, topic
        what is asked for, the same less the exclusion, and what is ruled out.
    kind
        whether the corpus has documents on the topic.
    grades
        by document, whether it covers the topic (2), mentions it (1) or neither (0).
    """

    id: str
    corpus: str
    query: str
    wanted: str
    topic: str
    kind: TopicKind
    grades: Mapping[str, Grade]


@dataclass(frozen=True)
class CoverageLabels:
    """Labels that were read together.

    Attributes
    ----------
    names, fingerprint
        the files' names, and a digest of their bytes.
    searches
        in the order in which the files first name them.
    corpora
        by name, the corpora that the searches are over.
    """

    names: tuple[str, ...]
    fingerprint: str
    searches: tuple[LabelledSearch, ...]
    corpora: Mapping[str, CorpusFile]

    def first(self, limit: int | None) -> CoverageLabels:
        """The first so many searches, with their corpora; all of them where there is no limit."""
        if limit is None:
            return self
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InvalidInput(f"limit must be a whole number of at least 1, got {limit!r}.")
        searches = self.searches[:limit]
        used = {search.corpus for search in searches}
        corpora = {name: file for name, file in self.corpora.items() if name in used}
        return replace(self, searches=searches, corpora=corpora)


class _Row(NamedTuple):
    """One line, checked for itself."""

    id: str
    search: LabelledSearch
    document: str
    grade: Grade


def load_labels(paths: Sequence[str | Path], corpora: Mapping[str, str | Path]) -> CoverageLabels:
    """Read and check files of labels.

    Parameters
    ----------
    paths
        the files.
    corpora
        by the name that the labels give it, the file of each corpus. One that no label names is not read.

    Raises
    ------
    SuiteError
        where a label is malformed, comes twice, or names a corpus or a document that there is not.
    """
    if not paths:
        raise InvalidInput("name at least one file of labels.")
    digest, files = sha256(), dict[str, CorpusFile]()
    searches: dict[tuple[str, ...], LabelledSearch] = {}
    places: dict[str, str] = {}
    for path in map(Path, paths):
        for line, record in read_objects(path, SuiteError, digest):
            row = _row(record, line.where)
            if row.id in places:
                raise SuiteError(f"{line.where}: the label id {row.id!r} was already used at {places[row.id]}.")
            places[row.id] = line.where
            _check_document(row, line, corpora, files)
            _add(row, line, searches)
    if not searches:
        raise SuiteError(f"{', '.join(map(str, paths))}: no labels.")
    names = tuple(Path(path).name for path in paths)
    return CoverageLabels(names, digest.hexdigest()[:16], tuple(searches.values()), files)


def _row(record: Mapping[str, Any], where: str) -> _Row:
    missing = [name for name in ("id", *_TEXTS, "kind", "document", "grade") if record.get(name) is None]
    if missing:
        raise SuiteError(f"{where}: a label needs {', '.join(missing)}.")
    for name in _TEXTS:
        if not isinstance(record[name], str) or not record[name].strip():
            raise SuiteError(f"{where}: {name!r} must be a non-empty text, got {record[name]!r}.")
    for name in ("id", "document"):
        if isinstance(record[name], bool) or not isinstance(record[name], str | int):
            raise SuiteError(f"{where}: {name!r} must be a text or a whole number, got {record[name]!r}.")
    kind, grade = record["kind"], record["grade"]
    if kind not in get_args(TopicKind):
        raise SuiteError(f"{where}: the kind must be present or foreign, got {kind!r}.")
    if isinstance(grade, bool) or grade not in get_args(Grade):
        raise SuiteError(f"{where}: the grade must be 0, 1 or 2, got {grade!r}.")
    corpus, query, wanted, topic = (clean(record[name]) for name in _TEXTS)
    try:
        named_topics(query, topic)
    except InvalidInput as error:
        raise SuiteError(f"{where}: {error}") from None
    id, document = clean(str(record["id"])), clean(str(record["document"]))
    search = LabelledSearch(id, corpus, query, wanted, topic, kind, {})
    return _Row(id, search, document, cast(Grade, int(grade)))


def _check_document(row: _Row, line: Line, corpora: Mapping[str, str | Path], files: dict[str, CorpusFile]) -> None:
    """Refuse a document that its corpus does not have; a corpus is read when the first label names it."""
    name = row.search.corpus
    if name not in corpora:
        known = f"only {', '.join(corpora)}" if corpora else "none"
        raise SuiteError(
            f"{line.where}: the label is of the corpus {name!r}, and {known} was given (--corpus name=FILE)."
        )
    if name not in files:
        files[name] = read_corpus_file(Path(corpora[name]))
    if row.document not in files[name].ids:
        raise SuiteError(f"{line.where}: the document {row.document!r} is not in {corpora[name]}.")


def _add(row: _Row, line: Line, searches: dict[tuple[str, ...], LabelledSearch]) -> None:
    new = row.search
    key = (new.corpus, new.query, new.topic, new.kind)
    known = searches.get(key, new)
    if row.document in known.grades:
        raise SuiteError(f"{line.where}: the document {row.document!r} was already graded for this search.")
    searches[key] = replace(known, grades={**known.grades, row.document: row.grade})

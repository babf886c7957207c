"""Whether what is learned from occurs in what is measured: queries and documents, by normalised exact match."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from excise.errors import SuiteError
from excise.suites.pairs import load_pairs
from excise.suites.suites import BUILT_IN, load_suite
from excise.training.contrastive.triples import Triple, documents_of

_BETWEEN_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Measured:
    """What an evaluation set consists of: its queries, and the documents that it wants or rules out."""

    name: str
    queries: frozenset[str]
    documents: frozenset[str]


@dataclass(frozen=True)
class Overlap:
    """How many training queries and documents occur in an evaluation set."""

    name: str
    queries: int
    documents: int


def compared_form(text: str) -> str:
    """A text without what does not count: case, punctuation, white space.

    Examples
    --------
    >>> compared_form("Electric cars -- but *not* Tesla!")
    'electric cars but not tesla'
    """
    return _BETWEEN_WORDS.sub(" ", text.casefold()).strip()


def measured_sets(data: Path | None) -> list[Measured]:
    """The bundled dev split, and every suite (all splits) and file of pairs below a data folder."""
    found = [_suite(BUILT_IN, "dev")]
    for folder in sorted(data.iterdir()) if data else ():
        found += [_suite(folder, path.stem) for path in sorted((folder / "qrels").glob("*.tsv"))]
        for path in sorted(folder.glob("*pairs*.jsonl")):
            found += _pairs(path)
    return found


def without_leaks(triples: Sequence[Triple], sets: Iterable[Measured]) -> tuple[list[Triple], list[Overlap]]:
    """The triples that share no query and no document with any evaluation set, and what was found in each set."""
    leaking: set[int] = set()
    overlaps = []
    for one in sets:
        queries: set[str] = set()
        documents: set[str] = set()
        for i, triple in enumerate(triples):
            asked = {compared_form(text) for text in (triple.query, triple.plain) if text} & one.queries
            shown = {compared_form(document.text) for document in triple.documents} & one.documents
            if asked or shown:
                leaking.add(i)
            queries |= asked
            documents |= shown
        overlaps.append(Overlap(one.name, len(queries), len(documents)))
    return [triple for i, triple in enumerate(triples) if i not in leaking], overlaps


def _suite(folder: str | Path, split: str) -> Measured:
    suite = load_suite(folder, split)
    queries = frozenset(compared_form(query.text) for query in suite.queries)
    wanted = {id for rows in suite.qrels.values() for id, score in rows.items() if score > 0}
    ruled_out = {id for ids in suite.negatives.values() for id in ids}
    documents = documents_of(suite)
    texts = frozenset(compared_form(documents[id].text) for id in wanted | ruled_out)
    return Measured(f"{suite.name} {split}", queries, texts)


def _pairs(path: Path) -> Iterator[Measured]:
    try:
        pairs = load_pairs(path)
    except SuiteError:
        return  # another kind of file
    every = [preference for pair in pairs.pairs for preference in pair.preferences]
    texts = frozenset(compared_form(text) for one in every for text in (one.preferred, one.other))
    yield Measured(f"{path.parent.name} {pairs.name}", frozenset(compared_form(one.query) for one in every), texts)

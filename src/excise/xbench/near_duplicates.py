"""Near-duplicates, by MinHash: in reference files, and among the documents of a corpus.

The benchmark's texts are few, and a reference file may be of any size: so the former are indexed, and the latter is
read as a stream. MinHash finds candidates; the exact Jaccard similarity of their word runs decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from excise.documents import Document
from excise.extras import need
from excise.progress import Progress, silent
from excise.suites.jsonlines import read_objects
from excise.xbench.gates import NEAR_DUPLICATE
from excise.xbench.shown import text_without_placeholder
from excise.xbench.storage import XBenchError
from excise.xbench.texts import jaccard, normalised, shingles

_PERMUTATIONS = 128
_CANDIDATES = 0.75  # below the threshold itself, so that the estimate's error loses nothing
_TEXT_FIELDS = ("text", "query", "question", "passage", "positive", "negative", "q1", "q2", "doc1", "doc2")
_TOLD = 1_000
_SECOND_VERSION = frozenset(
    {
        "correction", "corrected", "corrigendum", "corrigenda", "erratum", "errata", "retraction", "retracted",
        "addendum", "amended", "amendment", "rectification", "rectificatif", "update", "updated", "to", "the",
        "of", "for", "a", "an",
    }
)  # fmt: skip
_TITLE_WORDS = 3  # what is left of a title that two documents may be known by


def find_leaks(
    texts: Mapping[str, str], references: Sequence[Path], threshold: float = NEAR_DUPLICATE, progress: Progress = silent
) -> dict[str, str]:
    """Where each text was found, for those that were.

    Parameters
    ----------
    texts
        the benchmark's queries and documents, by any name.
    references
        JSON lines (``text`` with ``title``, or other fields of texts), or files with one text a line (.txt, .tsv: the
        last column).
    threshold
        the Jaccard similarity from which two texts are the same.
    """
    if not references or not texts:
        return {}
    if not 0.0 < threshold <= 1.0:
        raise XBenchError(f"the similarity of a leaked text must be over 0 and at most 1, got {threshold:g}.")
    runs = {name: shingles(text) for name, text in texts.items()}
    index = _index(runs, min(_CANDIDATES, 0.85 * threshold))
    found: dict[str, str] = {}
    for number, (where, text) in enumerate(_reference_texts(references), 1):
        own = shingles(text)
        for name in index.query(_signature(own)):
            if name not in found and jaccard(runs[name], own) >= threshold:
                found[name] = where
        if number % _TOLD == 0:
            progress("comparing with references", number, 0)
    return found


def second_versions(documents: Iterable[Document], threshold: float, progress: Progress = silent) -> dict[str, str]:
    """Documents that say once more what another one says: by id, the document that is kept in their place.

    A correction of a document has its title, and hardly any of its words; a sibling (the same form, filled in for
    another year) has most of its words. The first of each kind in the corpus is kept.

    Parameters
    ----------
    threshold
        the Jaccard similarity of word runs from which two documents say the same.

    Examples
    --------
    >>> first = Document("d1", "Rye was grown in 40 fields.", title="A study of rye in Finnish soil")
    >>> correction = Document("d2", "In Table 2 the unit is tons.", title="Erratum: A Study of Rye in Finnish Soil")
    >>> second_versions([first, correction], 0.5)
    {'d2': 'd1'}
    """
    if not 0.0 < threshold <= 1.0:
        raise XBenchError(f"the similarity of near-duplicates must be over 0 and at most 1, got {threshold:g}.")
    need("leaving near-duplicates out", "xbench", "datasketch")
    from datasketch import MinHashLSH

    index = MinHashLSH(threshold=0.85 * threshold, num_perm=_PERMUTATIONS)
    runs: dict[str, frozenset[str]] = {}
    titles: dict[str, str] = {}
    found: dict[str, str] = {}
    for number, document in enumerate(documents, 1):
        own, title = shingles(text_without_placeholder(document)), _plain_title(document.title)
        signature = _signature(own)
        alike = [id for id in index.query(signature) if jaccard(runs[id], own) >= threshold]
        before = titles.get(title) or (min(alike) if alike else None)
        if before is not None:
            found[document.id] = before
        else:
            runs[document.id] = own
            index.insert(document.id, signature)
            if title:
                titles[title] = document.id
        if number % _TOLD == 0:
            progress("looking for near-duplicates", number, 0)
    return found


def _plain_title(title: str) -> str:
    """What a title and that of its correction, or of the next year's issue, have in common; empty: too little."""
    words = [word for word in normalised(title).split() if word not in _SECOND_VERSION and not word.isdigit()]
    return " ".join(words) if len(words) >= _TITLE_WORDS else ""


def _index(runs: Mapping[str, frozenset[str]], threshold: float) -> Any:
    need("the leakage gate", "xbench", "datasketch")
    from datasketch import MinHashLSH

    index = MinHashLSH(threshold=threshold, num_perm=_PERMUTATIONS)
    for name, own in runs.items():
        index.insert(name, _signature(own))
    return index


def _signature(runs: frozenset[str]) -> Any:
    from datasketch import MinHash

    signature = MinHash(num_perm=_PERMUTATIONS, seed=1)
    signature.update_batch([run.encode() for run in sorted(runs)])
    return signature


def _reference_texts(paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for path in paths:
        if path.is_dir():
            yield from _reference_texts(sorted(path.glob("*.jsonl")))
        elif path.suffix.lower() in (".txt", ".tsv"):
            yield from _plain_lines(path)
        else:
            for line, record in read_objects(path, XBenchError):
                for text in texts_of(record):
                    yield line.where, text


def _plain_lines(path: Path) -> Iterator[tuple[str, str]]:
    if not path.is_file():
        raise XBenchError(f"{path}: no such file.")
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            text = line.rsplit("\t", 1)[-1].strip()
            if text:
                yield f"{path}, line {number}", text


def texts_of(record: Mapping[str, Any]) -> list[str]:
    """The texts of a line of data: a document with and without its title, a query, the texts of a pair.

    Examples
    --------
    >>> texts_of({"_id": "d1", "title": "Rye", "text": "A grain."})
    ['A grain.', 'Rye. A grain.']
    """
    found = [value for name in _TEXT_FIELDS if isinstance(value := record.get(name), str) and value.strip()]
    title, text = record.get("title"), record.get("text")
    if isinstance(title, str) and isinstance(text, str) and title.strip() and text.strip():
        found.append(f"{title}. {text}")
    return found

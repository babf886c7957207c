"""Near-duplicates in reference files, by MinHash.

The benchmark's texts are few, and a reference file may be of any size: so the former are indexed, and the latter is
read as a stream. MinHash finds candidates; the exact Jaccard similarity of their word runs decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from excise.extras import need
from excise.progress import Progress, silent
from excise.suites.jsonlines import read_objects
from excise.xbench.gates import NEAR_DUPLICATE
from excise.xbench.storage import XBenchError
from excise.xbench.texts import jaccard, shingles

_PERMUTATIONS = 128
_CANDIDATES = 0.75  # below the threshold itself, so that the estimate's error loses nothing
_TEXT_FIELDS = ("text", "query", "question", "passage", "positive", "negative", "q1", "q2", "doc1", "doc2")
_TOLD = 1_000


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

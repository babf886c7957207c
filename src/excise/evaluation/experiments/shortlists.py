"""Frozen shortlists kept on disk, so that many systems over one suite cost one search of its index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from excise.durable import make_folder, replace_file
from excise.evaluation.systems.cases import Case, Collection, suite_cases
from excise.progress import Progress
from excise.search.stages import Shortlist
from excise.suites.suites import Query


@dataclass(frozen=True, eq=False)
class StoredShortlists:
    """By query, the ids and scores of the frozen shortlist; ``seconds`` is what a query's search took on average."""

    found: dict[str, tuple[list[str], list[float]]]
    seconds: float

    def cases(self, queries: Sequence[Query], collection: Collection) -> Iterator[Case]:
        """The queries as :func:`excise.evaluation.systems.cases.suite_cases` gives them."""
        assert collection.reader is not None
        for query in queries:
            ids, scores = self.found[query.id]
            documents, vectors = collection.reader.documents(ids), collection.reader.vectors(ids)
            encoded = collection.backbone.encode_query(query.text)
            yield Case(query, encoded, Shortlist(documents, vectors, np.array(scores)), collection)


def stored_shortlists(
    path: Path, key: Sequence[str], queries: Sequence[Query], collection: Collection, progress: Progress
) -> StoredShortlists:
    """The shortlists of a file, or those of a search now where it has none, or others.

    Parameters
    ----------
    path
        the file.
    key
        fingerprints of all that shortlists depend on.
    queries, collection
        what to search for, and where.
    progress
        called as searches are done.
    """
    stored = read_shortlists(path, key)
    if stored is not None:
        return stored
    found: dict[str, tuple[list[str], list[float]]] = {}
    start = perf_counter()
    for done, case in enumerate(suite_cases(queries, collection)):
        progress("searching the frozen index", done, len(queries))
        found[case.query.id] = ([one.id for one in case.documents], [float(score) for score in case.scores])
    seconds = (perf_counter() - start) / max(len(queries), 1)
    make_folder(path.parent)
    content = {"key": list(key), "seconds": seconds, "found": found}
    replace_file(path, json.dumps(content).encode())
    return StoredShortlists(found, seconds)


def read_shortlists(path: Path, key: Sequence[str] | None = None) -> StoredShortlists | None:
    """What a file holds; None where there is none, or where it was made from something else."""
    try:
        content = json.loads(path.read_bytes())
        if key is not None and content["key"] != list(key):
            return None
        return StoredShortlists(
            {id: (ids, scores) for id, (ids, scores) in content["found"].items()}, content["seconds"]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None

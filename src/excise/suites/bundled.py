"""What ships inside the package: a small corpus written for excise, with its queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path


@contextmanager
def suite() -> Iterator[Path]:
    """The folder of the bundled suite: corpus.jsonl, queries.jsonl, qrels/ and negatives/."""
    with as_file(files("excise") / "data" / "own") as folder:
        yield folder


@contextmanager
def corpus() -> Iterator[Path]:
    """The bundled corpus: 400 short documents in 40 families."""
    with suite() as folder:
        yield folder / "corpus.jsonl"

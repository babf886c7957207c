"""The index of a suite's corpus: built once, and found again by the fingerprints of encoder and corpus."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from excise.documents import Corpus
from excise.encoders.backbone import Backbone
from excise.engines.local.engine import MANIFEST, LocalEngine
from excise.errors import SuiteError
from excise.progress import Progress
from excise.search.operator import Excise, load
from excise.suites.suites import Suite

_CHUNK = 1 << 20


def load_operator(index: Path | None) -> Excise:
    """The shipped operator, with the encoder that an index was built with where there is one already."""
    return load(index) if index is not None and (index / MANIFEST).exists() else load()


def corpus_fingerprint(corpus: Path) -> str:
    """A digest of a file of documents."""
    digest = hashlib.sha256()
    with corpus.open("rb") as content:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()[:16]


def index_place(suite: Suite, backbone: Backbone) -> Path:
    """Where the index of a suite is kept."""
    return cached_index(suite.name, backbone, corpus_fingerprint(suite.corpus))


def cached_index(name: str, backbone: Backbone, contents: str) -> Path:
    """The folder of an index of some contents: below ``EXCISE_CACHE``, or ``~/.cache/excise``."""
    root = Path(os.environ.get("EXCISE_CACHE") or Path.home() / ".cache" / "excise")
    both = f"{backbone.fingerprint}-{contents}"
    return root / "indexes" / f"{name}-{hashlib.sha256(both.encode()).hexdigest()[:16]}"


def build_index(suite: Suite, operator: Excise, index: Path | None, progress: Progress) -> LocalEngine:
    """Open the suite's index, and build what is missing of it.

    Parameters
    ----------
    suite
        whose corpus is wanted.
    operator
        encodes what is missing.
    index
        where the index is; by default :func:`index_place`.
    progress
        called as documents are encoded.
    """
    place = index or index_place(suite, operator.backbone)
    if (place / MANIFEST).exists():
        known = {document.id for document in Corpus([suite.corpus])}
        strange = [id for id in LocalEngine.open(place).ids() if id not in known]
        if strange:
            raise SuiteError(
                f"{place} holds {len(strange):,} documents that are not in {suite.corpus}, {strange[0]!r} first: "
                "name another folder for the suite's own index."
            )
    operator.index(suite.corpus, place, progress=lambda done, total: progress("indexing", done, total))
    return LocalEngine.open(place)

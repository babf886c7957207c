"""The index of a suite's corpus: built once, and found again by the fingerprints of encoder and corpus."""

from __future__ import annotations

import hashlib
from pathlib import Path

from excise.cache_folder import cache_folder
from excise.encoders.backbone import DEFAULT, Backbone, load_backbone
from excise.encoders.cache import DEFAULT_BYTES
from excise.engines.base import Reader
from excise.engines.local.manifest import MANIFEST
from excise.errors import SuiteError
from excise.progress import Progress
from excise.search.operator import Excise, load
from excise.suites.suites import Suite


def load_operator(
    suite: Suite, index: Path | None = None, backbone: Backbone | None = None, cache_bytes: int = DEFAULT_BYTES
) -> Excise:
    """The shipped operator, with the index of a suite where there is one already.

    Parameters
    ----------
    suite
        whose corpus is wanted.
    index
        where the index is; by default :func:`index_place`. One that is there decides which encoder is loaded.
    backbone
        an encoder that is loaded already; an index of another one is refused.
    cache_bytes
        how much re-embedded documents may take.
    """
    if index is not None:
        return load(index if _is_index(index) else None, backbone=backbone, cache_bytes=cache_bytes)
    backbone = backbone or load_backbone(DEFAULT)
    place = index_place(suite, backbone)
    return load(place if _is_index(place) else None, backbone=backbone, cache_bytes=cache_bytes)


def build_index(suite: Suite, operator: Excise, index: Path | None, progress: Progress) -> Reader:
    """Index what is missing of a suite's corpus, and take the snapshot that a run works on.

    Parameters
    ----------
    suite
        whose corpus is wanted.
    operator
        as :func:`load_operator` gave it.
    index
        where the index is; by default :func:`index_place`.
    progress
        called as documents are encoded.
    """
    place = index or index_place(suite, operator.backbone)
    if operator.engine is not None:
        known = {document.id for document in suite.documents()}
        strange = [id for id in operator.engine.reader().ids() if id not in known]
        if strange:
            raise SuiteError(
                f"{place} holds {len(strange):,} documents that are not in {suite.corpus}, {strange[0]!r} first: "
                "name another folder for the suite's own index."
            )
    operator.index(
        suite.documents(),
        None if operator.engine is not None else place,
        progress=lambda done, total: progress("indexing", done, total),
    )
    assert operator.engine is not None
    return operator.engine.reader()


def index_place(suite: Suite, backbone: Backbone) -> Path:
    """Where the index of a suite is kept."""
    return cached_index(suite.name, backbone, suite.corpus_fingerprint)


def cached_index(name: str, backbone: Backbone, contents: str) -> Path:
    """The folder of an index of some contents, in the cache: that of another name where one holds the same."""
    both = f"{backbone.fingerprint}-{contents}"
    digest = hashlib.sha256(both.encode()).hexdigest()[:16]
    folder = cache_folder() / "indexes"
    same = sorted(place for place in folder.glob(f"*-{digest}") if _is_index(place))
    return same[0] if same else folder / f"{name}-{digest}"


def _is_index(folder: Path) -> bool:
    return (folder / MANIFEST).exists()

"""The models of a search, loaded when they are first needed and shared by every pipeline over the same backbone."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from excise.encoders.backbone import Backbone
from excise.encoders.cache import EmbeddingCache
from excise.model_folders import own_folder, shipped_folder
from excise.rules.readout import READOUTS, CoverageReadout, read_readouts, readout_for_any, readout_of
from excise.search.match_features import FEATURES, WORD_FEATURES
from excise.search.scale_measurement import measured_scale
from excise.search.similarity_scale import REFERENCE, SimilarityScale

if TYPE_CHECKING:
    from excise.encoders.adapter import Adapter
    from excise.topics.detector import Detector

SHIPPED = "shipped"


class SearchModels:
    """A backbone, and what reads exclusions and re-embeds beside it. Any number of threads may share one.

    Parameters
    ----------
    backbone
        encodes queries, topics and candidates.
    detector
        reads exclusions from queries: "shipped", a folder, a detector, or None to rule out only what is named.
    adapter
        re-embeds and reads a query a second time: "shipped", a folder, an adapter, or None.
    cache
        where re-embedded documents are kept.
    coverage
        tells how likely a candidate covers a topic: "shipped", or a folder that ``excise train coverage`` wrote.
    """

    def __init__(
        self,
        backbone: Backbone,
        detector: Detector | str | Path | None = SHIPPED,
        adapter: Adapter | str | Path | None = SHIPPED,
        cache: EmbeddingCache | None = None,
        coverage: str | Path = SHIPPED,
    ) -> None:
        self.backbone = backbone
        self.cache = EmbeddingCache() if cache is None else cache  # an empty one is false
        self._detector, self._adapter, self._coverage = detector, adapter, coverage
        self._loading = Lock()

    @property
    def detector(self) -> Detector | None:
        """What reads exclusions from queries."""
        with self._loading:
            if isinstance(self._detector, str | Path):
                from excise.topics.detector import Detector, load_detector

                shipped = self._detector == SHIPPED
                self._detector = load_detector() if shipped else Detector.from_pretrained(self._detector)
            return self._detector

    @cached_property
    def readout(self) -> CoverageReadout:
        """What tells how likely a candidate covers a topic: the backbone's own, or one that serves any.

        Where the backbone's vectors tell nothing, the one that serves any reads words alone.
        """
        own = readout_of(self._readouts, self.backbone.judging.weights_fingerprint)
        return own or readout_for_any(self._readouts, WORD_FEATURES if self._measured is None else FEATURES)

    @cached_property
    def scale(self) -> SimilarityScale:
        """Where the backbone's similarities lie: as it was measured when its readout was fitted, or is measured now."""
        if self.readout.weights is None:
            return self._measured or REFERENCE
        return REFERENCE if self.readout.levels is None else SimilarityScale(*self.readout.levels)

    @cached_property
    def _measured(self) -> SimilarityScale | None:
        return measured_scale(self.backbone.judging)

    @cached_property
    def _readouts(self) -> list[CoverageReadout]:
        """The readouts of the caller's folder, of ``EXCISE_MODELS``, and those that ship: the first fitting counts."""
        chosen = [None if self._coverage == SHIPPED else Path(self._coverage), own_folder("coverage")]
        folders = [folder for folder in (*chosen, shipped_folder("coverage")) if folder is not None]
        return [readout for folder in folders for readout in read_readouts(folder / READOUTS)]

    @property
    def adapter(self) -> Adapter | None:
        """The exclusion adapter; None where there is none for the backbone."""
        with self._loading:
            if isinstance(self._adapter, str | Path):
                from excise.encoders.adapter import Adapter, load_adapter

                shipped = self._adapter == SHIPPED
                own = load_adapter(self.backbone) if shipped else Adapter.from_pretrained(self._adapter, self.backbone)
                self._adapter = own
            return self._adapter

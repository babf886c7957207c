"""The models of a search, loaded when they are first needed and shared by every pipeline over the same backbone."""

from __future__ import annotations

from functools import cached_property
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from excise.encoders.backbone import Backbone
from excise.encoders.cache import EmbeddingCache
from excise.rules.readout import READOUTS, CoverageReadout, read_readouts, readout_for

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
    """

    def __init__(
        self,
        backbone: Backbone,
        detector: Detector | str | Path | None = SHIPPED,
        adapter: Adapter | str | Path | None = SHIPPED,
        cache: EmbeddingCache | None = None,
    ) -> None:
        self.backbone = backbone
        self.cache = EmbeddingCache() if cache is None else cache  # an empty one is false
        self._detector, self._adapter = detector, adapter
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
        """What tells how likely a candidate covers a topic: the backbone's own, or the one that serves any."""
        path = Path(str(files("excise") / "models" / "coverage" / READOUTS))
        return readout_for(read_readouts(path), self.backbone.judging.weights_fingerprint)

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

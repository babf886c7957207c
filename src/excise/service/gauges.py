"""What ``/metrics`` tells, in the text format of Prometheus."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from excise.errors import ExciseError
from excise.results import SearchResult

METRICS_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64)


class Gauges:
    """The figures of one service, in a registry of their own: several services may live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        own = self.registry
        self.requests = Counter("excise_requests", "Requests answered.", ("route", "method", "status"), registry=own)
        self.seconds = Histogram(
            "excise_request_seconds", "Time to answer a request.", ("route",), registry=own, buckets=_SECONDS
        )
        self.open_requests = Gauge("excise_open_requests", "Requests that are being answered.", registry=own)
        self.batches = Histogram("excise_batch_queries", "Queries encoded together.", registry=own, buckets=_SIZES)
        self.queries = Counter(
            "excise_queries", "Queries searched, by whether anything was excluded.", ("fired",), registry=own
        )
        self.removed = Counter("excise_removed_documents", "Documents ruled out of results.", registry=own)

    def watch(self, name: str, help: str, read: Callable[[], float]) -> None:
        """A figure that is read when it is asked for; NaN where it cannot be had, so that the others still can."""

        def read_or_nan() -> float:
            try:
                return read()
            except ExciseError:
                return math.nan

        Gauge(name, help, registry=self.registry).set_function(read_or_nan)

    def searched(self, results: Iterable[SearchResult]) -> None:
        """Count what searches did."""
        for result in results:
            self.queries.labels(str(result.fired).lower()).inc()
            self.removed.inc(len(result.removed))

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return bytes(generate_latest(self.registry))

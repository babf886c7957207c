"""From queries to their candidates: what they exclude, their vectors, and what an engine finds for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from excise.cores import cores, side_by_side
from excise.engines.base import Found, Reader
from excise.filters import Where
from excise.results import Detection
from excise.search.budget import SearchClock
from excise.search.pipeline import Pipeline
from excise.search.stages import SearchVectors
from excise.vectors.encoded import EncodedQuery

Exclude = Sequence[str] | str | None


class Wanted(NamedTuple):
    """What is searched, how many documents are wanted, and with which metadata."""

    reader: Reader
    k: int
    where: Where | None


def candidates_of(
    pipeline: Pipeline, queries: Sequence[str], exclude: Exclude, wanted: Wanted, clock: SearchClock
) -> tuple[list[SearchVectors], list[Found]]:
    """Each query as vectors, with what it excludes, and its candidates.

    A batch goes one step after the other, each step on all cores. One query alone leaves all but one of them idle, so
    what does not wait for each other is done side by side.
    """
    if len(queries) == 1 and cores() > 1:
        search, found = _side_by_side(pipeline, queries[0], exclude, wanted, clock)
        return [search], [found]
    detections = pipeline.detect(queries, exclude)
    clock.lap("detect")
    searches = pipeline.encode(detections)
    clock.lap_encoding(searches)
    every = pipeline.find(wanted.reader, searches, wanted.k, wanted.where)
    clock.lap("candidates")
    return searches, every


def _side_by_side(
    pipeline: Pipeline, query: str, exclude: Exclude, wanted: Wanted, clock: SearchClock
) -> tuple[SearchVectors, Found]:
    """Detector and encoder read the query at the same time; its topics are encoded while candidates are looked for."""

    def detect() -> Detection:
        with clock.spent_on("detect"):
            return pipeline.detect([query], exclude)[0]

    def encode() -> EncodedQuery:
        with clock.spent_on("encode"):
            return pipeline.backbone.encode_query(query)

    def find() -> Found:
        with clock.spent_on("candidates"):
            return pipeline.find(wanted.reader, [search], wanted.k, wanted.where)[0]

    def complete() -> SearchVectors:
        with clock.spent_on("topics"):
            return pipeline.encode_beside(search)

    detection, encoded = side_by_side(detect, encode)
    search = SearchVectors.of(detection, encoded, ())
    return side_by_side(complete, find) if detection.topics else (search, find())

"""Where a system's excluded topics come from: the suite's record, or the detector."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal

from excise.errors import BackboneError, InvalidInput
from excise.results import Topic
from excise.search.inputs import named_topics
from excise.suites.suites import Query

TopicSource = Literal["oracle", "detector"]


def oracle_topics(query: Query) -> tuple[Topic, ...]:
    """The topics of the record, read as a user's who names them; none where it has none.

    Examples
    --------
    >>> [topic.text for topic in oracle_topics(Query("q", "cars, not Tesla", {"excluded": ["Tesla"]}))]
    ['Tesla']
    """
    return named_topics(query.text, query.excluded)


def detect_topics(queries: Sequence[str]) -> list[tuple[Topic, ...]]:
    """The topics that the shipped detector finds in each query; none where it does not fire."""
    try:
        from excise.topics.detector import load_detector

        detector = load_detector()
    except (ImportError, BackboneError) as error:
        raise InvalidInput(
            f"a system without ':oracle' takes its topics from the detector, which cannot be loaded: {error}"
        ) from error
    return [detection.topics if detection.fired else () for detection in detector.detect(list(queries))]


def detector_fingerprint() -> str:
    """A digest of the shipped detector's files."""
    digest = hashlib.sha256()
    folder = Path(str(files("excise") / "models" / "detector"))
    for path in sorted(folder.glob("*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]

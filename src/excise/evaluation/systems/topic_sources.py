"""Where a system's excluded topics come from: the suite's record, the detector, or nowhere."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from excise.errors import BackboneError, InvalidInput
from excise.evaluation.systems.spec import TopicSource
from excise.model_folders import model_folder
from excise.results import Detection
from excise.search.pipeline import Pipeline, named
from excise.suites.suites import Query


def excluded_by(source: TopicSource | None, queries: Sequence[Query], pipeline: Pipeline) -> list[Detection]:
    """What each query rules out, as a source of topics has it.

    Parameters
    ----------
    source
        "oracle" takes the topics of the record, read as a user's who names them; "detector" those that the pipeline's
        detector finds; None takes none.
    queries
        the queries of a suite.
    pipeline
        whose detector is asked.
    """
    if source == "detector":
        return _detected([query.text for query in queries], pipeline)
    return [oracle(query) if source == "oracle" else named(query.text, ()) for query in queries]


def oracle(query: Query) -> Detection:
    """What the record of a query says that it rules out.

    Examples
    --------
    >>> [topic.text for topic in oracle(Query("q", "cars, not Tesla", {"excluded": ["Tesla"]})).topics]
    ['Tesla']
    """
    return named(query.text, query.excluded)


def _detected(queries: Sequence[str], pipeline: Pipeline) -> list[Detection]:
    try:
        if pipeline.models.detector is None:
            raise BackboneError("the operator has none.")
    except (ImportError, BackboneError) as error:
        raise InvalidInput(
            f"a system without ':oracle' takes its topics from the detector, which cannot be loaded: {error}"
        ) from error
    return pipeline.detect(queries)


def detector_fingerprint() -> str:
    """A digest of the files of the detector in use."""
    digest = hashlib.sha256()
    folder = model_folder("detector")
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]

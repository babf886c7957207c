"""Why the frozen score cannot honour an exclusion (the paper's section 3 and Appendix A), measured on a suite.

For every query with golds and excluded documents, the best excluded document n is set against the best gold g, both
scored by MaxSim on the stored vectors. The gap is S(q, n) - S(q, g): positive where the document that the user ruled
out comes first. Proposition 1 splits it in two, gap = epsilon + |q_Z| * delta:

=================  ====================================================================================================
epsilon            the gap on the wanted tokens of the query
|q_Z|              how many tokens of the query name the excluded topics
delta              the excluded document's mean advantage on each of those tokens
=================  ====================================================================================================

The linear probe of :mod:`excise.evaluation.experiments.probe` then asks whether the vectors tell the two kinds of
document apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.engines.base import Engine, Reader, expect
from excise.errors import InvalidInput, SuiteError
from excise.evaluation.experiments.probe import Probe, probe
from excise.evaluation.measures.significance import bootstrap_means
from excise.progress import Progress, silent
from excise.suites.suites import Query, Suite
from excise.topics.locate import occurrences
from excise.vectors.encoded import EncodedQuery
from excise.vectors.maxsim import best_matches
from excise.vectors.ragged import Ragged

BUCKETS = ((1, 3), (4, 6), (7, 10), (11, None))
_RESAMPLES = 2_000


@dataclass(frozen=True)
class Terms:
    """The two terms of Proposition 1 for one query: ``gap = epsilon + tokens * delta``."""

    epsilon: float
    tokens: int
    delta: float

    @property
    def excluded(self) -> float:
        """What the excluded tokens add to the gap, |q_Z| * delta."""
        return self.tokens * self.delta


@dataclass(frozen=True)
class Inversion:
    """One query: the best gold, the best excluded document, and by how much the excluded one scores higher.

    ``excluded_tokens`` counts the tokens of the topics in the query's record. ``terms`` is None where the query does
    not name its topics word for word.
    """

    query: str
    gold: str
    excluded: str
    gap: float
    excluded_tokens: int
    terms: Terms | None


@dataclass(frozen=True)
class Gap:
    """Gaps of several queries: how many, the share that is over zero, and the mean with its 95% interval."""

    name: str
    queries: int
    inverted: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class MeanTerms:
    """Proposition 1 over the queries that name their topics: the means of its terms, and how often each is positive."""

    queries: int
    epsilon: float
    tokens: float
    delta: float
    excluded: float
    epsilon_positive: float
    delta_positive: float


@dataclass(frozen=True)
class Diagnosis:
    """What was found. ``terms`` is None where no query names its topics; ``probe`` where it was not asked for."""

    suite: str
    split: str
    backbone: str
    gaps: Gap
    buckets: tuple[Gap, ...]
    terms: MeanTerms | None
    probe: Probe | None
    inversions: tuple[Inversion, ...]


def diagnose(
    suite: Suite,
    backbone: Backbone,
    engine: Engine | None = None,
    *,
    with_probe: bool = True,
    seed: int = 0,
    progress: Progress = silent,
) -> Diagnosis:
    """Measure the inversion on every query of a suite that has golds and excluded documents.

    Parameters
    ----------
    suite
        queries with what they want and what they rule out.
    backbone
        the frozen encoder.
    engine
        where the suite's documents are stored. Without it, the judged documents alone are encoded.
    with_probe
        whether to train the linear probe too.
    seed
        of the bootstrap and of the probe's folds.
    progress
        called as the work goes on.

    Examples
    --------
    >>> from excise.encoders.backbone import load_backbone
    >>> from excise.suites.suites import load_suite
    >>> found = diagnose(load_suite("own", "dev", limit=4), load_backbone("minilm"), with_probe=False)
    >>> one = found.inversions[0]
    >>> found.gaps.queries, abs(one.gap - (one.terms.epsilon + one.terms.excluded)) < 1e-4
    (4, True)
    """
    queries = [query for query in suite.queries if _golds(suite, query) and suite.negatives.get(query.id)]
    if not queries:
        raise InvalidInput(
            f"the suite {suite.name!r} ({suite.split}) has no query with both golds and excluded documents: "
            "there is nothing to diagnose."
        )
    ids = sorted({key for query in queries for key in (*_golds(suite, query), *suite.negatives[query.id])})
    if engine is not None:
        expect(engine, backbone.info)
    reader = None if engine is None else engine.reader()
    documents = _documents(suite, ids) if reader is None else reader.documents(ids)
    windows = _windows(documents, backbone, reader, progress)
    inversions = []
    for done, query in enumerate(queries, 1):
        inversions.append(_inversion(query, suite, backbone, windows))
        progress("scoring queries", done, len(queries))
    probed = None
    if with_probe:
        pairs = [(one.gold, one.excluded) for one in inversions]
        probed = probe(pairs, {document.id: document for document in documents}, windows, backbone, seed, progress)
    return Diagnosis(
        suite=suite.name,
        split=suite.split,
        backbone=backbone.name,
        gaps=_gap("all", [one.gap for one in inversions], seed),
        buckets=_buckets(inversions, seed),
        terms=_mean_terms([one.terms for one in inversions if one.terms is not None]),
        probe=probed,
        inversions=tuple(inversions),
    )


def split_gap(
    spans: NDArray[np.int64],
    gold: NDArray[np.float32],
    excluded: NDArray[np.float32],
    topics: Sequence[tuple[int, int]],
) -> Terms | None:
    """The terms of Proposition 1; None where no token of the query stands for a topic.

    Parameters
    ----------
    spans
        which characters of the query each token stands for.
    gold, excluded
        each query token's best match in the gold, and in the excluded document.
    topics
        where the query names the excluded topics.

    Examples
    --------
    >>> spans = np.array([[0, 4], [10, 15]])  # "cars, not Tesla": the tokens "cars" and "Tesla"
    >>> gold, excluded = np.array([0.75, 0.25], np.float32), np.array([0.5, 1.0], np.float32)
    >>> split_gap(spans, gold, excluded, [(10, 15)])
    Terms(epsilon=-0.25, tokens=1, delta=0.75)
    """
    named = np.zeros(len(spans), dtype=bool)
    for start, end in topics:
        named |= (spans[:, 0] >= 0) & (spans[:, 0] < end) & (spans[:, 1] > start)
    tokens = int(named.sum())
    if tokens == 0:
        return None
    advantage = excluded.astype(np.float64) - gold.astype(np.float64)
    return Terms(float(advantage[~named].sum()), tokens, float(advantage[named].mean()))


def find_topics(text: str, topics: Sequence[str]) -> list[tuple[int, int]]:
    """Every place where a text names the topics as whole words, in any case; empty unless it names all of them.

    Examples
    --------
    >>> find_topics("cars, but no tesla", ["Tesla"]), find_topics("teslas", ["Tesla"])
    ([(13, 18)], [])
    """
    found = [occurrences(text, topic) for topic in topics]
    return [span for spans in found for span in spans] if all(found) else []


def _golds(suite: Suite, query: Query) -> list[str]:
    return [key for key, score in suite.qrels.get(query.id, {}).items() if score > 0]


def _documents(suite: Suite, ids: Sequence[str]) -> list[Document]:
    wanted = set(ids)
    found = {document.id: document for document in suite.documents() if document.id in wanted}
    missing = wanted - found.keys()
    if missing:
        raise SuiteError(f"{suite.corpus}: holds no document with the id {min(missing)!r}.")
    return [found[key] for key in ids]


def _windows(
    documents: Sequence[Document], backbone: Backbone, reader: Reader | None, progress: Progress
) -> dict[str, Ragged]:
    """The stored token vectors of each document's windows."""
    if reader is not None:
        encoded = reader.vectors([document.id for document in documents])
    else:
        texts = [document.full_text for document in documents]
        encoded = backbone.encode_documents(
            texts, lambda share: progress("encoding documents", round(share * 100), 100)
        )
    return {document.id: encoded.document(place) for place, document in enumerate(documents)}


def _inversion(query: Query, suite: Suite, backbone: Backbone, windows: dict[str, Ragged]) -> Inversion:
    encoded = backbone.encode_query(query.text)
    golds, negatives = _golds(suite, query), sorted(suite.negatives[query.id])
    matches = _matches(encoded, [*golds, *negatives], windows)
    gold = max(golds, key=lambda key: _sum(matches[key]))
    excluded = max(negatives, key=lambda key: _sum(matches[key]))
    return Inversion(
        query=query.id,
        gold=gold,
        excluded=excluded,
        gap=_sum(matches[excluded]) - _sum(matches[gold]),
        excluded_tokens=sum(map(backbone.encoder.tokenizer.count, query.excluded)),
        terms=split_gap(encoded.spans, matches[gold], matches[excluded], find_topics(query.text, query.excluded)),
    )


def _matches(query: EncodedQuery, ids: Sequence[str], windows: dict[str, Ragged]) -> dict[str, NDArray[np.float32]]:
    """By document, each query token's best match in the window that the document scores by."""
    owners = [key for key in ids for _ in range(len(windows[key]))]
    stacked = Ragged.of([windows[key][number] for key in ids for number in range(len(windows[key]))])
    best: dict[str, NDArray[np.float32]] = {}
    for key, row in zip(owners, best_matches(query.vectors, stacked), strict=True):
        if key not in best or _sum(row) > _sum(best[key]):
            best[key] = row
    return best


def _sum(matches: NDArray[np.float32]) -> float:
    return float(matches.sum(dtype=np.float64))  # as maxsim adds them up


def _buckets(inversions: Sequence[Inversion], seed: int) -> tuple[Gap, ...]:
    """Gaps by the number of excluded tokens; a bucket that holds no query is left out."""
    found = []
    for low, high in BUCKETS:
        top = np.inf if high is None else high
        gaps = [one.gap for one in inversions if low <= one.excluded_tokens <= top]
        if gaps:
            found.append(_gap(f">={low}" if high is None else f"{low}-{high}", gaps, seed))
    return tuple(found)


def _gap(name: str, gaps: Sequence[float], seed: int) -> Gap:
    values = np.array(gaps, dtype=np.float64)
    low, high = np.quantile(bootstrap_means(values, _RESAMPLES, seed), (0.025, 0.975))
    return Gap(name, len(values), float((values > 0).mean()), float(values.mean()), float(low), float(high))


def _mean_terms(terms: Sequence[Terms]) -> MeanTerms | None:
    if not terms:
        return None
    epsilon, delta = np.array([one.epsilon for one in terms]), np.array([one.delta for one in terms])
    return MeanTerms(
        queries=len(terms),
        epsilon=float(epsilon.mean()),
        tokens=float(np.mean([one.tokens for one in terms])),
        delta=float(delta.mean()),
        excluded=float(np.mean([one.excluded for one in terms])),
        epsilon_positive=float((epsilon > 0).mean()),
        delta_positive=float((delta > 0).mean()),
    )

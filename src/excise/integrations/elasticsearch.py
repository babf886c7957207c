"""Elasticsearch and OpenSearch responses, less what the query excludes: their JSON in, the same JSON out.

Nothing of their clients is imported: a response is the object that the REST API answers with, or a client's response
that has it as its ``body``. Both engines share the shape that is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from excise.errors import InvalidInput
from excise.integrations.first_stage import METADATA_KEY, Candidate, Sifted, sift

if TYPE_CHECKING:
    from excise.search.operator import Excise

SearchHit = Mapping[str, Any]
"""One element of ``hits.hits``: ``_id``, ``_score``, and ``_source`` or ``fields``."""


def rerank_response(
    operator: Excise,
    query: str,
    response: Any,
    exclude: Sequence[str] | str | None = None,
    *,
    text: str | Sequence[str] = "text",
    title: str | None = "title",
    size: int | None = None,
) -> Any:
    """A whole search response, less what the query excludes.

    The hits that stay keep all their keys and get one more, ``excise``, with their status; what was removed is in
    ``response["excise"]["removed"]``. ``max_score`` is that of the hits that stay; ``total`` is the index's own count,
    and stays. A query that excludes nothing gets the very same response back.

    Parameters
    ----------
    operator
        what judges; it needs no index.
    query
        what the user asked for: the text, not the engine's query object.
    response
        what the search API answered.
    exclude
        topics to rule out; None lets the detector read them from the query.
    text, title
        the fields of ``_source`` (or ``fields``) that hold text and title; dots lead into objects, and of several
        fields of text all are read.
    size
        how many hits are kept at most. Ask the engine for more than that, so that others can take the place of what is
        removed.

    Examples
    --------
    >>> import excise
    >>> cars = {"a": "The Tesla Model 3 is an electric sedan.", "b": "The Nissan Leaf is an electric hatchback.",
    ...         "c": "The Renault Zoe is a small electric car.", "d": "BYD's Dolphin is an electric hatchback."}
    >>> hits = [{"_index": "cars", "_id": id, "_score": 9.0, "_source": {"text": cars[id]}} for id in cars]
    >>> response = {"took": 2, "hits": {"total": {"value": 4, "relation": "eq"}, "max_score": 9.0, "hits": hits}}
    >>> less = rerank_response(excise.load(), "electric cars, but not Tesla", response)
    >>> [hit["_id"] for hit in less["hits"]["hits"]], [hit["_id"] for hit in less["excise"]["removed"]]
    (['b', 'c', 'd'], ['a'])
    """
    body = getattr(response, "body", response)
    if not isinstance(body, Mapping) or not isinstance(body.get("hits"), Mapping) or "hits" not in body["hits"]:
        raise InvalidInput("a search response is an object with 'hits', which holds 'hits' in its turn.")
    hits = body["hits"]["hits"]
    sifted = _sifted(operator, query, hits, exclude, text, title, size)
    if sifted is None and (size is None or size >= len(hits)):
        return response
    if sifted is None:
        return {**body, "hits": {**body["hits"], "hits": list(hits[:size])}}
    kept, removed = _marked(hits, sifted)
    scores = [hit["_score"] for hit in kept if hit.get("_score") is not None]
    outer = {**body["hits"], "hits": kept}
    if "max_score" in outer:
        outer["max_score"] = max(scores, default=None)
    told = {"topics": [topic.text for topic in sifted.topics], "removed": removed}
    return {**body, "hits": outer, METADATA_KEY: told}


def rerank_hits(
    operator: Excise,
    query: str,
    hits: Sequence[SearchHit],
    exclude: Sequence[str] | str | None = None,
    *,
    text: str | Sequence[str] = "text",
    title: str | None = "title",
    size: int | None = None,
    on_removed: Callable[[str, list[dict[str, Any]]], None] | None = None,
) -> Sequence[SearchHit]:
    """The list ``hits.hits`` alone, less what the query excludes; parameters as in :func:`rerank_response`.

    Parameters
    ----------
    on_removed
        called with the query and the hits that were removed.

    Examples
    --------
    >>> import excise
    >>> hits = [{"_id": "a", "_score": 9.0, "_source": {"text": "The Nissan Leaf is an electric hatchback."}}]
    >>> rerank_hits(excise.load(), "electric cars", hits) is hits
    True
    """
    sifted = _sifted(operator, query, hits, exclude, text, title, size)
    if sifted is None:
        return hits if size is None or size >= len(hits) else hits[:size]
    kept, removed = _marked(hits, sifted)
    if on_removed is not None and removed:
        on_removed(query, removed)
    return kept


def _sifted(
    operator: Excise,
    query: str,
    hits: Any,
    exclude: Sequence[str] | str | None,
    text: str | Sequence[str],
    title: str | None,
    size: int | None,
) -> Sifted | None:
    if isinstance(hits, str) or not isinstance(hits, Sequence):
        raise InvalidInput(f"hits must be a list of objects, got {type(hits).__name__}.")
    fields = (text,) if isinstance(text, str) else tuple(text)
    candidates = [_candidate(hit, fields, title) for hit in hits]
    if candidates and not any(one.text for one in candidates):
        raise InvalidInput(f"no hit has a text in {', '.join(map(repr, fields))}: name the field with text=...")
    return sift(operator, query, candidates, exclude, size)


def _marked(hits: Sequence[SearchHit], sifted: Sifted) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The hits that stay and those that go, each with its verdict; the scores only where the engine gave any."""
    kept, removed = (
        [{**hits[one.position], METADATA_KEY: one.as_dict()} for one in verdicts]
        for verdicts in (sifted.kept, sifted.removed)
    )
    for hit, one in zip(kept, sifted.kept, strict=True):
        if hit.get("_score") is not None:
            hit["_score"] = one.score
    return kept, removed


def _candidate(hit: Any, fields: Sequence[str], title: str | None) -> Candidate:
    if not isinstance(hit, Mapping):
        raise InvalidInput(f"a hit must be an object with '_id' and '_source', got {type(hit).__name__}.")
    score = hit.get("_score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise InvalidInput(f"the _score of the hit {hit.get('_id')!r} must be a number or null, got {score!r}.")
    texts = [part for field in fields for part in _texts(hit, field)]
    return Candidate("\n".join(texts), " ".join(_texts(hit, title)) if title else "", score)


def _texts(hit: SearchHit, field: str) -> list[str]:
    """What a hit has in a field: in ``fields``, where values are always lists, or else in ``_source``."""
    for place in ("_source", "fields"):
        held = hit.get(place)
        if isinstance(held, Mapping):
            found = held[field] if field in held else _within(held, field.split("."))
            values = found if isinstance(found, list) else [found]
            texts = [value for value in values if isinstance(value, str) and value.strip()]
            if texts:
                return texts
    return []


def _within(held: Any, path: Sequence[str]) -> Any:
    """The value that a path of keys leads to; None where it ends."""
    for key in path:
        if not isinstance(held, Mapping) or key not in held:
            return None
        held = held[key]
    return held

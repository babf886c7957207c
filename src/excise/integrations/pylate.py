"""PyLate's results, less what the queries exclude: ``list[list[{"id", "score"}]]`` in and out.

Nothing of PyLate is imported: its retrievers and its ``rank.rerank`` return plain lists of dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from excise.errors import InvalidInput
from excise.integrations.first_stage import Candidate, sift

if TYPE_CHECKING:
    from excise.search.operator import Excise

Ranked = list[dict[str, Any]]
"""One query's results as PyLate has them: dictionaries with ``id`` and ``score``, best first."""


def rerank_results(
    operator: Excise,
    queries: Sequence[str],
    results: Sequence[Ranked],
    texts: Mapping[Any, str] | None = None,
    exclude: Sequence[str] | str | None = None,
    *,
    k: int | None = None,
    on_removed: Callable[[str, Ranked], None] | None = None,
) -> list[Ranked]:
    """PyLate's results of several queries, each less what its query excludes.

    A query that excludes nothing gets its own list back, the very same object where ``k`` does not cut it.

    Parameters
    ----------
    operator
        what judges.
    queries, results
        the queries, and what PyLate found for each: ``ColBERT.retrieve(...)`` or ``rank.rerank(...)``.
    texts
        the text of each id. Without it, texts are taken from the index that the operator is open on, by the same ids.
    exclude
        topics to rule out in every query; None lets the detector read them from each.
    k
        how many results are kept for a query at most.
    on_removed
        called with a query and what was removed from its results, each with status, evidence and passage.

    Examples
    --------
    >>> import excise
    >>> texts = {"3": "The Tesla Model 3 is an electric sedan.", "leaf": "The Nissan Leaf is an electric hatchback.",
    ...          "zoe": "The Renault Zoe is a small electric car.", "dolphin": "BYD's Dolphin is electric."}
    >>> found = [[{"id": id, "score": 20.0 - place} for place, id in enumerate(texts)]]
    >>> rerank_results(excise.load(), ["electric cars, but not Tesla"], found, texts)
    [[{'id': 'leaf', 'score': 19.0}, {'id': 'zoe', 'score': 18.0}, {'id': 'dolphin', 'score': 17.0}]]
    """
    if isinstance(queries, str) or len(queries) != len(results):
        count = "one text" if isinstance(queries, str) else f"{len(queries)}"
        raise InvalidInput(f"queries and results must be lists of the same length, got {count} and {len(results)}.")
    find = _found_in(texts) if texts is not None else _found_in_index(operator)
    reranked: list[Ranked] = []
    for query, ranked in zip(queries, results, strict=True):
        sifted = sift(operator, query, find(ranked), exclude, k)
        if sifted is None:
            reranked.append(ranked if k is None or k >= len(ranked) else ranked[:k])
            continue
        reranked.append([{**ranked[one.position], "score": one.score} for one in sifted.kept])
        if on_removed is not None and sifted.removed:
            on_removed(query, [{**ranked[one.position], **one.as_dict()} for one in sifted.removed])
    return reranked


def _found_in(texts: Mapping[Any, str]) -> Callable[[Ranked], list[Candidate]]:
    """Candidates with their texts from a mapping."""

    def find(ranked: Ranked) -> list[Candidate]:
        for one in ranked:
            if not isinstance(texts.get(_id_of(one)), str):
                raise InvalidInput(f"there is no text for the id {one['id']!r}.")
        return [Candidate(texts[one["id"]], score=_score_of(one)) for one in ranked]

    return find


def _found_in_index(operator: Excise) -> Callable[[Ranked], list[Candidate]]:
    """Candidates with their texts from one state of the operator's index."""
    if operator.engine is None:
        raise InvalidInput("results have ids alone: hand over their texts, or open an index with excise.load(folder).")
    reader = operator.engine.reader()

    def find(ranked: Ranked) -> list[Candidate]:
        documents = reader.documents([str(_id_of(one)) for one in ranked])
        return [
            Candidate(document.text, document.title, _score_of(one))
            for document, one in zip(documents, ranked, strict=True)
        ]

    return find


def _id_of(one: Any) -> Any:
    if not isinstance(one, Mapping) or "id" not in one or "score" not in one:
        raise InvalidInput(f"a result must be an object with 'id' and 'score', got {one!r}.")
    return one["id"]


def _score_of(one: Mapping[str, Any]) -> float:
    try:
        return float(one["score"])
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"the score of {one['id']!r} must be a number, got {one['score']!r}.") from None

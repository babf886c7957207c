"""Systems of others, by name: negative feedback over the same shortlist, and models from elsewhere.

========================  =============================================================================================
bm25-not                  BM25 for the query less its topics, without the documents that hold all words of a topic
maxsim-not                MaxSim for the query less its topics over the shortlist, without those documents
rocchio                   the query's token vectors less the topics' mean, MaxSim over the shortlist (``weight=``)
maxsim-minus              MaxSim(query) less MaxSim(topic) over the shortlist (``weight=``)
qdrant-negative           Qdrant's recommendation with the topics as negative examples, over mean token vectors of the
                          shortlist; ``best-score`` takes its other strategy
dense=MODEL               a sentence-transformers bi-encoder as a first stage of its own: windows, the best one counts
cross-encoder=MODEL       a sentence-transformers cross-encoder that ranks the shortlist again, query as typed
llm-rewrite=MODEL         a language model rewrites the query to what is wanted, and the index is searched for that
llm-judge=MODEL           a language model reads the best candidates and strikes out what the query rules out
========================  =============================================================================================

A model is a folder or a hub id; of a language model, the name under which the endpoint serves it. Options follow with
semicolons: ``dense=MODEL;query=Instruct: ... Query: {query}``, ``cross-encoder=MODEL;k=50``,
``llm-judge=MODEL;url=http://localhost:8123/v1;k=10``. In a line of names, what holds a comma stands in double quotes:
``dense="MODEL;query=Find, and leave out: {query}"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from excise.errors import InvalidInput

FeedbackName = Literal["bm25-not", "maxsim-not", "rocchio", "maxsim-minus", "qdrant-negative"]
ModelKind = Literal["dense", "cross-encoder", "llm-rewrite", "llm-judge"]
FEEDBACK_NAMES: tuple[FeedbackName, ...] = get_args(FeedbackName)
MODEL_KINDS: tuple[ModelKind, ...] = get_args(ModelKind)
WEIGHT, BEST_SCORE = "weight", "best-score"
_WEIGHTS: dict[FeedbackName, float] = {"rocchio": 0.5, "maxsim-minus": 1.0}
_OPTIONS: dict[ModelKind, dict[str, Any]] = {
    "dense": {"query": "{query}", "document": "{document}"},
    "cross-encoder": {"k": 100},
    "llm-rewrite": {"url": ""},
    "llm-judge": {"url": "", "k": 10, "words": 120},
}


@dataclass(frozen=True)
class FeedbackWay:
    """A topic taken as a negative example.

    Attributes
    ----------
    feedback
        which one.
    weight
        what the topic weighs against the query; 0 where that is not asked.
    best_score
        Qdrant's strategy "best score" in place of "average vector".
    """

    feedback: FeedbackName
    weight: float = 0.0
    best_score: bool = False


@dataclass(frozen=True)
class ForeignModel:
    """A model from elsewhere, and how it is used; what its kind does not know has no meaning.

    Attributes
    ----------
    kind, model
        what it does; a folder, a hub id, or its name at an endpoint.
    query, document
        templates of what a bi-encoder reads.
    k
        how many candidates are read.
    words
        how many words of each candidate a language model reads.
    url
        the base address of an OpenAI-compatible endpoint; the environment's where it is empty.
    """

    kind: ModelKind
    model: str
    query: str = "{query}"
    document: str = "{document}"
    k: int = 100
    words: int = 120
    url: str = ""


def parse_feedback(name: str, first: str, changes: Sequence[str]) -> FeedbackWay | None:
    """What a name of negative feedback stands for; None where it is not one.

    Examples
    --------
    >>> parse_feedback("rocchio+weight=0.2", "rocchio", ["weight=0.2"])
    FeedbackWay(feedback='rocchio', weight=0.2, best_score=False)
    >>> parse_feedback("excise", "excise", [])
    """
    if first not in FEEDBACK_NAMES:
        return None
    way = FeedbackWay(first, _WEIGHTS.get(first, 0.0))
    for change in changes:
        key, equals, value = change.partition("=")
        if equals and key == WEIGHT and first in _WEIGHTS:
            way = replace(way, weight=_positive(name, value))
        elif change == BEST_SCORE and first == "qdrant-negative":
            way = replace(way, best_score=True)
        else:
            raise InvalidInput(f"{name!r}: {change!r} does not belong to {first}.")
    return way


def parse_model(name: str, stem: str) -> ForeignModel | None:
    """What a name with a model in it stands for; None where it has none.

    Examples
    --------
    >>> parse_model("", "cross-encoder=models/ms-marco;k=20")
    ForeignModel(kind='cross-encoder', model='models/ms-marco', query='{query}', document='{document}', k=20, \
words=120, url='')
    >>> parse_model("", "excise")
    """
    kind, equals, text = stem.partition("=")
    if not equals or kind not in MODEL_KINDS:
        return None
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        text = text[1:-1]
    model, *options = text.split(";")
    if not model.strip():
        raise InvalidInput(f"{name!r} names no model: {kind} takes a folder or a model's name.")
    known = _OPTIONS[kind]
    given: dict[str, Any] = dict(known)
    for option in options:
        key, equals, value = option.partition("=")
        key = key.strip()
        if not equals or key not in known:
            raise InvalidInput(f"{name!r}: {kind} has no option {option!r}; it has {', '.join(known)}.")
        given[key] = _whole(name, key, value) if isinstance(known[key], int) else value.strip()
    for side in ("query", "document"):
        if side in given and f"{{{side}}}" not in given[side]:
            raise InvalidInput(f"{name!r}: the template {given[side]!r} must hold {{{side}}}.")
    usable = {field.name for field in fields(ForeignModel)}
    return ForeignModel(kind, model.strip(), **{key: value for key, value in given.items() if key in usable})


def _positive(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise InvalidInput(f"{name!r}: a weight is a number of at least 0, got {value!r}.")
    return number


def _whole(name: str, key: str, value: str) -> int:
    if not value.strip().isdecimal() or int(value) < 1:
        raise InvalidInput(f"{name!r}: {key} must be a whole number of at least 1, got {value!r}.")
    return int(value)

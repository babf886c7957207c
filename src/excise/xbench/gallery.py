"""A page with examples of every kind of query: what it wants, what it rules out, and the documents behind both."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from excise.suites.suites import Query, Suite
from excise.topics.locate import occurrences
from excise.xbench.cues import TIERS, explicit_cues
from excise.xbench.pages import filled
from excise.xbench.texts import shortened

_WORDS = 45
_ABOUT = {
    "T1": "The exclusion is said openly, with a cue.",
    "T2": "No cue: the exclusion stands between the lines.",
    "T3": "Two topics are ruled out at once.",
}


class QueryPart(NamedTuple):
    """A piece of a query; marked where it names an excluded topic."""

    text: str
    marked: bool


class ShownDocument(NamedTuple):
    """A document of a card: "gold" or "negative", what to call it, and the beginning of its text."""

    kind: str
    label: str
    id: str
    text: str


class GalleryCard(NamedTuple):
    """One query with all that is known about it."""

    id: str
    query: tuple[QueryPart, ...]
    facts: tuple[str, ...]
    documents: tuple[ShownDocument, ...]


class GallerySection(NamedTuple):
    """The cards of one tier."""

    tier: str
    about: str
    cards: tuple[GalleryCard, ...]


def gallery(suite: Suite, each: int = 4, seed: int = 0) -> str:
    """The page: some queries of every tier, form and length.

    Parameters
    ----------
    suite
        where the examples come from.
    each
        how many examples of each kind.
    """
    wanted = _chosen([query for query in suite.queries if query.tier in TIERS], each, seed)
    texts = {document.id: document.full_text for document in suite.documents()}
    sections = [
        GallerySection(tier, _ABOUT[tier], tuple(_card(suite, query, texts) for query in group))
        for tier, group in groupby(wanted, key=lambda query: str(query.tier))
    ]
    return filled("gallery.html.j2", title=f"gallery of {suite.name}, {suite.split}", sections=sections)


def _kind(query: Query) -> tuple[str, str, str]:
    return str(query.tier), str(query.metadata.get("form", "")), str(query.metadata.get("length", ""))


def _chosen(queries: Sequence[Query], each: int, seed: int) -> list[Query]:
    chosen: list[Query] = []
    for kind, group in groupby(sorted(queries, key=_kind), key=_kind):
        own = list(group)
        random.Random(f"{seed}|{kind}").shuffle(own)
        chosen += own[:each]
    return chosen


def _card(suite: Suite, query: Query, texts: Mapping[str, str]) -> GalleryCard:
    golds = [id for id, score in suite.qrels.get(query.id, {}).items() if score > 0][:1]
    negatives = sorted(suite.negatives.get(query.id, ()))[:2]
    cues = ", ".join(explicit_cues(query.text)) or "none"
    facts = [f"X: {query.metadata.get('wanted', '')}", f"Z: {'; '.join(query.excluded)}", f"cue: {cues}"]
    facts += [f"{name}: {query.metadata[name]}" for name in ("form", "length") if query.metadata.get(name)]
    shown = [ShownDocument("gold", "wanted", id, shortened(texts[id], _WORDS)) for id in golds]
    shown += [ShownDocument("negative", "ruled out", id, shortened(texts[id], _WORDS)) for id in negatives]
    return GalleryCard(query.id, _parts(query), tuple(facts), tuple(shown))


def _parts(query: Query) -> tuple[QueryPart, ...]:
    """The query, its excluded topics marked."""
    parts, done = [], 0
    for start, end in sorted(span for topic in query.excluded for span in occurrences(query.text, topic)):
        if start >= done:  # of topics that overlap, the first is marked
            parts += [QueryPart(query.text[done:start], False), QueryPart(query.text[start:end], True)]
            done = end
    return (*parts, QueryPart(query.text[done:], False))

"""A page with examples of every kind of query: what it wants, what it rules out, and the documents behind both."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from html import escape
from itertools import groupby

from excise.documents import Corpus
from excise.suites.suites import Query, Suite
from excise.xbench.cues import TIERS, explicit_cues
from excise.xbench.page import page
from excise.xbench.texts import shortened

_WORDS = 45
_ABOUT = {
    "T1": "The exclusion is said openly, with a cue.",
    "T2": "No cue: the exclusion stands between the lines.",
    "T3": "Two topics are ruled out at once.",
}


def gallery(suite: Suite, each: int = 4, seed: int = 0) -> str:
    """The page: some queries of every tier, form and length.

    Parameters
    ----------
    suite
        where the examples come from.
    each
        how many examples of each kind.
    """
    queries = [query for query in suite.queries if query.tier in TIERS]
    wanted = _chosen(queries, each, seed)
    needed = {id for query in wanted for id in (*suite.qrels.get(query.id, {}), *suite.negatives.get(query.id, ()))}
    texts = {document.id: document.full_text for document in Corpus([suite.corpus]) if document.id in needed}
    sections = []
    for tier, group in groupby(wanted, key=lambda query: str(query.tier)):
        cards = "".join(_card(suite, query, texts) for query in group)
        sections.append(f'<section><h2>{tier}</h2><p class="lead">{_ABOUT[tier]}</p>{cards}</section>')
    return page(f"gallery of {suite.name}, {suite.split}", "\n".join(sections))


def _kind(query: Query) -> tuple[str, str, str]:
    return str(query.tier), str(query.metadata.get("form", "")), str(query.metadata.get("length", ""))


def _chosen(queries: Sequence[Query], each: int, seed: int) -> list[Query]:
    chosen: list[Query] = []
    for kind, group in groupby(sorted(queries, key=_kind), key=_kind):
        own = list(group)
        random.Random(f"{seed}|{kind}").shuffle(own)
        chosen += own[:each]
    return chosen


def _card(suite: Suite, query: Query, texts: dict[str, str]) -> str:
    golds = [id for id, score in suite.qrels.get(query.id, {}).items() if score > 0][:1]
    negatives = sorted(suite.negatives.get(query.id, ()))[:2]
    cues = ", ".join(explicit_cues(query.text)) or "none"
    facts = [f"X: {query.metadata.get('wanted', '')}", f"Z: {'; '.join(query.excluded)}", f"cue: {cues}"]
    facts += [f"{name}: {query.metadata[name]}" for name in ("form", "length") if query.metadata.get(name)]
    parts = [f'<p class="query">{_marked(query)}</p>', f'<p class="facts">{escape(" · ".join(facts))}</p>']
    parts += [_document(id, texts[id], "gold", "wanted") for id in golds]
    parts += [_document(id, texts[id], "negative", "ruled out") for id in negatives]
    return f'<div class="card" id="{escape(query.id, quote=True)}">{"".join(parts)}</div>'


def _document(id: str, text: str, kind: str, label: str) -> str:
    who = f'<span class="who">{label}, {escape(id)}</span><br>'
    return f'<p class="{kind}">{who}{escape(shortened(text, _WORDS))}</p>'


def _marked(query: Query) -> str:
    """The query with its excluded topics marked."""
    topics = [topic for topic in query.excluded if topic.strip()]
    if not topics:
        return escape(query.text)
    pattern = re.compile("|".join(re.escape(topic) for topic in sorted(topics, key=len, reverse=True)), re.IGNORECASE)
    parts, end = [], 0
    for found in pattern.finditer(query.text):
        parts += [escape(query.text[end : found.start()]), f"<mark>{escape(found.group())}</mark>"]
        end = found.end()
    return "".join([*parts, escape(query.text[end:])])

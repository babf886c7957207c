"""The nine gates. Each is a small function of what it looks at, and returns why a record fails, or None.

A record that fails one gate is dropped. The order is the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from excise.xbench.records import Record
from excise.xbench.texts import jaccard, mentions, normalised, shingles
from excise.xbench.verdicts import TopicVerdict

DEPTH = 100
NEAR_DUPLICATE = 0.9  # Jaccard similarity from which a text was leaked
SAME_DOCUMENT = 0.7  # Jaccard similarity from which two documents of a record are too much alike


class Gate(NamedTuple):
    """A gate's name, the reason code of what it drops, and what it asks for."""

    name: str
    code: str
    asks: str


GATES = (
    Gate("round-trip", "gold_unreachable", "the query finds the gold among the first hundred"),
    Gate("difficulty", "negative_too_easy", "every negative rivals the gold on X, by words and by vectors"),
    Gate("Z in negative", "z_not_in_negative", "the judge finds each topic in its negative"),
    Gate("Z not in gold", "z_in_gold", "no topic is in the gold, word for word or to the judge"),
    Gate("distinctness", "near_duplicates", "gold and negatives are different documents"),
    Gate("multi-Z coverage", "topics_pooled", "each topic has a negative of its own"),
    Gate("leakage", "leaked", "neither query nor documents are in a reference file"),
    Gate("paraphrase safety", "paraphrase_unsafe", "the query's own words for a topic fit the documents too"),
    Gate("query-side judge", "exclusion_not_read", "the query, read alone, rules each topic out"),
)


class Failure(NamedTuple):
    """Why a gate drops a record."""

    code: str
    detail: str


class Rivalry(NamedTuple):
    """How gold and negatives score on X by one measure."""

    measure: str
    gold: float
    negatives: tuple[float, ...]
    share: float


def round_trip(rank: int | None, depth: int = DEPTH) -> Failure | None:
    """Gate 1: the full query must bring the gold into the first hundred.

    Parameters
    ----------
    rank
        the gold's place in what the search found; None where it is not among the first ``depth``.

    Examples
    --------
    >>> round_trip(100)
    >>> round_trip(None).detail
    'the gold is not among the first 100'
    """
    return None if rank is not None else Failure("gold_unreachable", f"the gold is not among the first {depth}")


def difficulty(rivalries: Sequence[Rivalry]) -> Failure | None:
    """Gate 2: on X, every negative must score at least a share of what the gold scores, by each measure.

    Examples
    --------
    >>> difficulty([Rivalry("BM25", 10.0, (9.0, 4.0), share=0.5)]).detail
    'negative 2 has 40% of the BM25 score of the gold on X'
    """
    for rivalry in rivalries:
        for number, score in enumerate(rivalry.negatives, 1):
            if score < rivalry.share * rivalry.gold:
                percent = f"{score / rivalry.gold:.0%} of the {rivalry.measure} score of the gold on X"
                return Failure("negative_too_easy", f"negative {number} has {percent}")
    return None


def z_in_negative(verdicts: Sequence[TopicVerdict]) -> Failure | None:
    """Gate 3: the judge must find each topic in its negative.

    Examples
    --------
    >>> z_in_negative([TopicVerdict("rye", "rye", True, False, True, False, True)])
    >>> z_in_negative([]).detail
    'there is no verdict'
    """
    return _unless_all(verdicts, "z_not_in_negative", "in_negative", True)


def z_not_in_gold(record: Record, gold: str, verdicts: Sequence[TopicVerdict]) -> Failure | None:
    """Gate 4: no topic may be in the gold, neither word for word nor in the judge's eyes."""
    failure = z_not_in_gold_lexically(record.topics, gold)
    return failure or _unless_all(verdicts, "z_in_gold", "in_gold", False)


def z_not_in_gold_lexically(topics: Sequence[str], gold: str) -> Failure | None:
    """The half of gate 4 that needs no judge.

    Examples
    --------
    >>> z_not_in_gold_lexically(["solar tiles"], "A solar tile is a roof tile.").detail
    "the gold names 'solar tiles'"
    """
    for topic in topics:
        if mentions(gold, topic):
            return Failure("z_in_gold", f"the gold names {topic!r}")
    return None


def distinctness(texts: Mapping[str, str], most: float = SAME_DOCUMENT) -> Failure | None:
    """Gate 5: gold and negatives must not be near-duplicates of one another.

    Examples
    --------
    >>> distinctness({"gold": "one and the same text", "negative 1": "One and the same text!"}).detail
    'gold and negative 1 share 100% of their word runs'
    """
    runs = {name: shingles(text) for name, text in texts.items()}
    for one, other in combinations(runs, 2):
        shared = jaccard(runs[one], runs[other])
        if shared >= most:
            return Failure("near_duplicates", f"{one} and {other} share {shared:.0%} of their word runs")
    return None


def multi_z_coverage(record: Record, negatives: Sequence[str], verdicts: Sequence[TopicVerdict] = ()) -> Failure | None:
    """Gate 6: a compound query's topics differ, each has its own negative, and no negative covers another's topic.

    By words, and to the judge where it was asked.
    """
    expected = 2 if record.tier == "T3" else 1
    if len(record.topics) != expected:
        return Failure("topics_pooled", f"{record.tier} has {len(record.topics)} topics, and should have {expected}")
    if len(set(record.negatives)) < len(record.negatives):
        return Failure("topics_pooled", "one negative stands for two topics")
    if len({normalised(topic) for topic in record.topics}) < len(record.topics):
        return Failure("topics_pooled", "the same topic is excluded twice")
    for place, text in enumerate(negatives):
        for other, topic in enumerate(record.topics):
            if other != place and mentions(text, topic):
                return Failure("topics_pooled", f"negative {place + 1} names {topic!r}, the topic of another")
    for verdict in verdicts:
        if verdict.in_other:
            return Failure("topics_pooled", f"{verdict.topic!r} in the other negative: the judge says yes")
    return None


def leakage(leaks: Mapping[str, str]) -> Failure | None:
    """Gate 7: no text of the record may be nearly the same as one in a reference file.

    Parameters
    ----------
    leaks
        for each text that was found ("query", "gold", ...), where.

    Examples
    --------
    >>> leakage({"query": "train.jsonl, line 3"}).detail
    'query is in train.jsonl, line 3'
    """
    for name, where in leaks.items():
        return Failure("leaked", f"{name} is in {where}")
    return None


def paraphrase_safety(record: Record, verdicts: Sequence[TopicVerdict]) -> Failure | None:
    """Gate 8: in implicit and compound queries, the wording too must be in the negative and not in the gold."""
    if record.tier == "T1":
        return None
    failure = _unless_all(verdicts, "paraphrase_unsafe", "wording_in_negative", True)
    return failure or _unless_all(verdicts, "paraphrase_unsafe", "wording_in_gold", False)


def query_side(verdicts: Sequence[TopicVerdict]) -> Failure | None:
    """Gate 9: the judge, who reads the query alone, must find each topic ruled out.

    Examples
    --------
    >>> query_side([TopicVerdict("rye", "rye", True, False, True, False, excludes=False)]).detail
    "'rye' ruled out by the query: the judge says no"
    """
    return _unless_all(verdicts, "exclusion_not_read", "excludes", True)


_ASKED = {
    "in_negative": "in the negative",
    "in_gold": "in the gold",
    "wording_in_negative": "in the negative",
    "wording_in_gold": "in the gold",
    "excludes": "ruled out by the query",
}


def _unless_all(verdicts: Sequence[TopicVerdict], code: str, question: str, wanted: bool) -> Failure | None:
    """A failure unless the judge gave the wanted answer to a question on every topic."""
    if not verdicts:
        return Failure(code, "there is no verdict")
    for verdict in verdicts:
        said = getattr(verdict, question)
        if said is not wanted:
            name = verdict.topic if question in ("in_negative", "in_gold") else verdict.wording
            return Failure(code, f"{name!r} {_ASKED[question]}: {_said(said, question in verdict.unsure)}")
    return None


def _said(verdict: bool | None, unsure: bool) -> str:
    if unsure:
        return "the judge is unsure"
    return "the judge gave no usable answer" if verdict is None else f"the judge says {'yes' if verdict else 'no'}"

"""How queries are read by themselves: does each rule its topics out, and how? Several queries travel in one request.

The queries of one request come from different pairs, so that no wording of an exclusion stands beside another wording
of the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from excise.topics.locate import occurrences
from excise.xbench.answers import Desk, Missing, json_object, lists_of
from excise.xbench.cues import openly_ruled_out
from excise.xbench.prompts import prompt
from excise.xbench.requests import Model, Request, ask_for

Reading = Literal["openly", "implied", "no", "unsure"]
READINGS: tuple[Reading, ...] = ("openly", "implied", "no", "unsure")
_Key = TypeVar("_Key", bound=Hashable)


class Asked(NamedTuple):
    """A query and what it calls its topics; queries of one ``kind`` are read together."""

    kind: str
    query: str
    wordings: tuple[str, ...]


def query_question(model: Model, queries: Sequence[Asked]) -> Request:
    """The request that asks how queries are to be read."""
    listed = []
    for number, asked in enumerate(queries, 1):
        topics = "\n".join(f"   topic {place}: {wording}" for place, wording in enumerate(asked.wordings, 1))
        listed.append(f"{number}. {asked.query}\n{topics}")
    return ask_for("judge_query", model, number=str(len(queries)), queries="\n\n".join(listed))


def readings_reader(queries: Sequence[Asked]) -> Callable[[str], list[tuple[Reading, ...]]]:
    """Reads the answer to :func:`query_question`.

    Examples
    --------
    >>> readings_reader([Asked("T1", "tea, not milk", ("milk",))])('{"verdicts": [["openly"]]}')
    [('openly',)]
    """
    lengths = [len(asked.wordings) for asked in queries]

    def read(content: str) -> list[tuple[Reading, ...]]:
        found = json_object(content, prompt("judge_query").keys)
        return [tuple(row) for row in lists_of(found, "verdicts", lengths, READINGS)]

    return read


def ask_readings(
    desk: Desk, model: Model, queries: Mapping[_Key, Asked], together: int
) -> dict[_Key, tuple[Reading, ...] | Missing]:
    """Have queries read, so many in a request; by key, how each topic is ruled out, or why there is no answer.

    Parameters
    ----------
    queries
        in an order that does not depend on answers: requests are known by what is in them.
    together
        how many queries a request holds at most.
    """
    kinds: dict[str, list[_Key]] = {}
    for key, asked in queries.items():
        kinds.setdefault(asked.kind, []).append(key)
    found: dict[_Key, tuple[Reading, ...] | Missing] = {}
    for keys in kinds.values():
        for start in range(0, len(keys), together):
            block = keys[start : start + together]
            listed = [queries[key] for key in block]
            answer = desk.ask(query_question(model, listed), readings_reader(listed))
            if isinstance(answer, Missing):
                found |= dict.fromkeys(block, answer)
            else:
                found |= dict(zip(block, answer, strict=True))
    return found


def names_topic(query: str, wording: str) -> bool:
    """Whether a query has a topic's words in it, as whole words, letter for letter but for case.

    Examples
    --------
    >>> names_topic("cars, not the Model Y", "model y"), names_topic("cars, not the Model 3", "model y")
    (True, False)
    """
    return bool(occurrences(query, wording))


def passes_cue_test(query: str, wording: str) -> bool:
    """Whether a query rules a topic out in so many words: a cue stands just before it.

    Examples
    --------
    >>> passes_cue_test("cars other than the Model Y", "Model Y"), passes_cue_test("the Model Y, not in red", "Model Y")
    (True, False)
    """
    return any(openly_ruled_out(query, start) for start, _ in occurrences(query, wording))

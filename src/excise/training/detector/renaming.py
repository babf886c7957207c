"""Other topics in the same sentences: what says that a topic is excluded must be read whatever the topic is.

The queries that were written for training speak of everyday things, and what a sentence says and what it is about come
together there. A query over abstracts or filings excludes what it does not want in the same sentences, by other names.
So some exclusions get the topics of others in each epoch, and their partners, which exclude nothing, get the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

from excise.topics.locate import occurrences
from excise.training.detector.examples import Example

LONGEST = 4  # words of a name: longer topics are descriptions, which fit one query only


def names_of(examples: Iterable[Example]) -> list[str]:
    """What exclusions name, each once, in the order of the alphabet.

    Examples
    --------
    >>> names_of([Example("tea, not coffee", ((9, 15),), "", "explicit")])
    ['coffee']
    """
    topics = {example.text[start:end] for example in examples for start, end in example.spans}
    return sorted(topic for topic in topics if len(topic.split()) <= LONGEST)


def renamed(unit: Sequence[Example], names: Sequence[str], chooser: random.Random) -> list[Example]:
    """An exclusion and its partner with other names for the topics, the same in both.

    Examples
    --------
    >>> fire = Example("tea, not coffee", ((9, 15),), "", "explicit")
    >>> partner = Example("tea and coffee too", (), "", "partner")
    >>> [example.text for example in renamed([fire, partner], ["gene bodies"], random.Random(0))]
    ['tea, not gene bodies', 'tea and gene bodies too']
    """
    topics = sorted({example.text[start:end].casefold() for example in unit for start, end in example.spans})
    others = {topic: chooser.choice(names) for topic in topics}
    return [_with_names(example, others) for example in unit]


def _with_names(example: Example, others: dict[str, str]) -> Example:
    spans = set(example.spans)
    places = spans or {place for topic in others for place in occurrences(example.text, topic)}
    text, moved, read = "", [], 0
    for start, end in sorted(places):
        if start < read:  # it stands inside of the one before
            continue
        text += example.text[read:start]
        # A partner may write a topic in another way ("E-mail", "e\u2011mail"): it is found, and no key of these.
        name = others.get(example.text[start:end].casefold(), example.text[start:end])
        if (start, end) in spans:
            moved.append((len(text), len(text) + len(name)))
        text, read = text + name, end
    return replace(example, text=text + example.text[read:], spans=tuple(moved))

"""Texts compared by their words: normalised matches, mentions of a topic, shingles."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")
_SHINGLE = 3


def normalised(text: str) -> str:
    """Words only, in lower case, without accents: what a normalised exact match compares.

    Examples
    --------
    >>> normalised("The Citroën AMI, two-seat!")
    'the citroen ami two seat'
    """
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    return " ".join(_WORD.findall(plain.casefold()))


def word_stem(word: str) -> str:
    """A plural and its singular alike; nothing cleverer.

    Examples
    --------
    >>> word_stem("berries"), word_stem("boxes"), word_stem("glass")
    ('berry', 'box', 'glass')
    """
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def mentions(text: str, topic: str) -> bool:
    """Whether a text names a topic, word for word; plurals, case and punctuation apart.

    Examples
    --------
    >>> mentions("Early solar tiles leaked.", "solar tile"), mentions("Tiles for solar heat.", "solar tile")
    (True, False)
    >>> mentions("anything", "...")
    False
    """
    words = " ".join(word_stem(word) for word in normalised(topic).split())
    return bool(words) and f" {words} " in f" {' '.join(word_stem(word) for word in normalised(text).split())} "


def shingles(text: str) -> frozenset[str]:
    """The runs of three words in a text, its edges marked so that even one word has some.

    Examples
    --------
    >>> sorted(shingles("electric cars"))
    ['^ ^ electric', '^ electric cars', 'cars $ $', 'electric cars $']
    """
    words = ["^", "^", *normalised(text).split(), "$", "$"]
    return frozenset(" ".join(words[i : i + _SHINGLE]) for i in range(len(words) - _SHINGLE + 1))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of what two sets have between them that they have in common.

    Examples
    --------
    >>> jaccard(frozenset("abc"), frozenset("abcd"))
    0.75
    """
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def shortened(text: str, words: int) -> str:
    """The first so many words of a text, with an ellipsis where something was cut.

    Examples
    --------
    >>> shortened("one two three", 2)
    'one two ...'
    """
    parts = text.split()
    return " ".join(parts) if len(parts) <= words else " ".join(parts[:words]) + " ..."

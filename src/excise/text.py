"""Text as it comes from outside: broken characters replaced, queries bounded."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from excise.errors import InvalidInput

MAX_QUERY_WORDS = 1_000
MAX_QUERY_CHARACTERS = 20_000  # a thousand words of twenty letters: one endless word is no query
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """A text that every encoding of Unicode can hold: each lone surrogate becomes U+FFFD, one for one.

    Such halves of a character come from bytes that are no UTF-8 on a command line, and from "\\\\ud83d" in JSON. They
    cannot be printed, stored or tokenised. One for one, so that places in the text stay where they are.

    Examples
    --------
    >>> clean("caf\\udce9 au lait") == "caf\\N{REPLACEMENT CHARACTER} au lait"
    True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text


def unaccented(text: str) -> str:
    """A text with its accents left out, however its letters are composed: what compares it to one typed without them.

    Examples
    --------
    >>> unaccented("Beyoncé"), unaccented("Beyonce\\u0301"), unaccented("plain")
    ('Beyonce', 'Beyonce', 'plain')
    """
    if text.isascii():
        return text
    for letter in set(_BEYOND_ASCII.findall(text)):  # few of them differ: one pass each is faster than a translation
        text = text.replace(letter, _plain_letter(letter))
    return text


@lru_cache(maxsize=4_096)
def _plain_letter(letter: str) -> str:
    """A letter without its accents; nothing where it is an accent itself."""
    return "".join(mark for mark in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(mark))


def checked_query(query: object) -> str:
    """A query that can be searched for, cleaned; anything else is refused.

    Examples
    --------
    >>> checked_query("electric cars, but not Tesla")
    'electric cars, but not Tesla'
    >>> checked_query(" ")
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: the query is empty.
    """
    if not isinstance(query, str):
        raise InvalidInput(f"a query must be a text, got {type(query).__name__}.")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise InvalidInput(f"the query has {len(query):,} characters; at most {MAX_QUERY_CHARACTERS:,} are taken.")
    words = len(query.split())
    if not words:
        raise InvalidInput("the query is empty.")
    if words > MAX_QUERY_WORDS:
        raise InvalidInput(f"the query has {words:,} words; at most {MAX_QUERY_WORDS:,} are taken.")
    return clean(query)

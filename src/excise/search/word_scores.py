"""BM25 within a shortlist: how well candidates match the words of a query as such, beside what vectors say.

Vectors know what a text is about; in the jargon of a trade, which they have seldom read, the very words tell more. How
much a word counts is read off the shortlist alone, so that any engine's candidates can be scored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from excise.documents import Document
from excise.rules.decision import Floats
from excise.text import unaccented
from excise.topics.words import is_content

_SATURATION, _LENGTH = 1.2, 0.75  # the usual constants of BM25 (Robertson and Zaragoza 2009)
_WORD = re.compile(r"\w+")


def word_scores(parts: Sequence[str], documents: Sequence[Document]) -> Floats:
    """Each document's BM25 score for the content words of a query, singular and plural alike.

    Parameters
    ----------
    parts
        the query, less what it excludes.
    documents
        the candidates. A word counts the more, the fewer of them have it.

    Examples
    --------
    >>> cars = [Document("a", "An electric car."), Document("b", "Cars and cars."), Document("c", "A horse.")]
    >>> word_scores(["electric cars"], cars).round(2).tolist()
    [1.31, 0.63, 0.0]
    """
    asked = [word for part in parts for word in _WORD.findall(_folded(part)) if is_content(word)]
    stems = dict.fromkeys(map(_singular, asked))
    columns = {form: column for column, stem in enumerate(stems) for form in _forms(stem)}
    texts = [_folded(document.full_text) for document in documents]
    counts = np.zeros((len(documents), len(stems)))
    for row, text in enumerate(texts):
        for form, times in Counter(filter(columns.__contains__, _WORD.findall(text))).items():
            counts[row, columns[form]] += times
    lengths = np.array([max(1, len(text)) for text in texts])
    holding = (counts > 0).sum(axis=0)
    rarity = np.log1p((len(documents) - holding + 0.5) / (holding + 0.5))
    dampened = _SATURATION * (1 - _LENGTH + _LENGTH * lengths / lengths.mean())
    return np.asarray((counts * (_SATURATION + 1) / (counts + dampened[:, None])) @ rarity)


def _folded(text: str) -> str:
    """A text as its words compare: no accents, no capitals."""
    return unaccented(text).lower()


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _forms(stem: str) -> tuple[str, ...]:
    """A word in singular and plural."""
    return (stem, stem + "s", stem[:-1] + "ies") if stem.endswith("y") else (stem, stem + "s")

"""Words instead of vectors: BM25 over a corpus, for the baseline and for the interventions that read text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import bm25s  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.errors import InvalidInput


class Scored(NamedTuple):
    """A document and its BM25 score."""

    document: Document
    score: float


class Lexical:
    """BM25 (Lucene's form, k1 1.5, b 0.75) over title and text, with English stop words and no stemming.

    Examples
    --------
    >>> cars = [Document("leaf", "An electric hatchback."), Document("tesla", "Tesla sells an electric sedan.")]
    >>> lexical = Lexical(cars)
    >>> [found.document.id for found in lexical.search("the electric Tesla", k=5)]
    ['tesla', 'leaf']
    >>> (lexical.scores("Tesla", ["leaf", "tesla"]) > 0).tolist()
    [False, True]
    >>> lexical.idf("tesla") > lexical.idf("electric")
    True
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        if not documents:
            raise InvalidInput("BM25 needs at least one document.")
        self._documents = documents
        self._places = {document.id: i for i, document in enumerate(documents)}
        corpus = words([document.full_text for document in documents])
        self._frequency: dict[str, int] = {}
        for text in corpus:
            for word in set(text):
                self._frequency[word] = self._frequency.get(word, 0) + 1
        self._bm25 = bm25s.BM25()
        if self._frequency:  # a corpus of nothing but stop words has nothing to index
            self._bm25.index(corpus, show_progress=False)

    def __len__(self) -> int:
        """How many documents it searches."""
        return len(self._documents)

    def search(self, query: str, k: int) -> list[Scored]:
        """The k best documents that share a word with the query; equal scores in the order of the corpus."""
        scores = self._all_scores(query)
        best = np.argsort(-scores, kind="stable")[:k]
        return [Scored(self._documents[i], float(scores[i])) for i in best if scores[i] > 0]

    def scores(self, query: str, ids: Sequence[str]) -> NDArray[np.float64]:
        """The BM25 scores of the given documents."""
        return self._all_scores(query)[[self._places[id] for id in ids]]

    def idf(self, word: str) -> float:
        """How rare a word is in the corpus: log(1 + (N - n + 0.5) / (n + 0.5))."""
        n = self._frequency.get(word, 0)
        return float(np.log1p((len(self._documents) - n + 0.5) / (n + 0.5)))

    def _all_scores(self, query: str) -> NDArray[np.float64]:
        known = [word for word in words([query])[0] if word in self._frequency]
        if not known:
            return np.zeros(len(self._documents))
        return np.asarray(self._bm25.get_scores(known), dtype=np.float64)


def words(texts: Sequence[str]) -> list[list[str]]:
    """The words of texts, in lower case, less English stop words and single letters.

    Examples
    --------
    >>> words(["Electric cars, but not a Tesla"])
    [['electric', 'cars', 'tesla']]
    """
    tokens = bm25s.tokenize(list(texts), stopwords="en", return_ids=False, show_progress=False)
    return [list(text) for text in tokens]

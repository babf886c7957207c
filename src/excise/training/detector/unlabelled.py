"""Text that nobody has labelled, for teachers to read: sentences of a corpus, and names to stand for topics."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from excise.documents import Document
from excise.topics.words import CUE
from excise.training.detector.examples import Example

UNLABELLED = "unlabelled"  # the form of what has no label of its own
_END = re.compile(r"(?<=[.!?])\s+")
_WORDS = range(4, 41)  # as long as queries are


def sentences(documents: Sequence[Document], number: int, seed: int) -> list[Example]:
    """Sentences of a corpus, half of them with a word that can exclude something ("not", "without").

    They bear no label: what a teacher says of them is all that can be learned.

    Examples
    --------
    >>> texts = ["It is a long day. He never went home without it. Yes.", "She came home after a long time."]
    >>> found = sentences([Document(str(i), text) for i, text in enumerate(texts)], 2, seed=0)
    >>> sorted(example.text for example in found)
    ['He never went home without it.', 'She came home after a long time.']
    """
    chooser = random.Random(f"{seed} sentences")
    cued: list[str] = []
    other: list[str] = []
    for document in documents:
        for sentence in dict.fromkeys(_END.split(document.text)):
            if len(sentence.split()) in _WORDS:
                (cued if CUE.search(sentence) else other).append(sentence)
    chosen = [text for kind in (cued, other) for text in chooser.sample(kind, min(len(kind), number // 2))]
    chooser.shuffle(chosen)
    return [Example(text, (), UNLABELLED, UNLABELLED) for text in chosen]

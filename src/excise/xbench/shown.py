"""What a model is shown of a document: all of it up to a limit, and of a longer one the passages that matter.

Nothing is cut in the middle of a passage, and what is left out is told with its length: a writer that is asked what a
document "never touches" must know how much of it was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from excise.documents import Document
from excise.xbench.texts import normalised, word_stem

_NO_TITLES = frozenset({"none", "null", "nan", "na", "untitled", "no title", "unknown"})
_PASSAGE = 60  # words of a passage at least
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\n+")
_FUNCTION_WORDS = frozenset(
    {
        "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "was", "on", "are", "as", "with", "by",
        "be", "at", "from", "this", "which", "or", "an", "have", "has", "were", "not", "but", "had", "their",
        "its", "they", "his", "her", "been", "would", "will", "can", "more", "when", "who", "than", "also",
        "we", "our", "these", "may", "such", "into", "there", "other", "between", "you", "your", "if", "do",
        "does", "how", "what", "about", "over",
    }
)  # fmt: skip
ENGLISH_SHARE = 0.08  # function words among the words: English prose has 0.2 and more, tables and French under 0.05
_WORDS = re.compile(r"[^\W\d_]+")
_MANY_WORDS = 2_000  # a language shows in so many words


def text_without_placeholder(document: Document) -> str:
    """Title and text as one, without a title that only says there is none.

    Examples
    --------
    >>> text_without_placeholder(Document("d1", "Bread of rye.", title="None"))
    'Bread of rye.'
    >>> text_without_placeholder(Document("d1", "A grain.", title="Rye"))
    'Rye. A grain.'
    """
    return document.text if normalised(document.title) in _NO_TITLES else document.full_text


def reads_as_english(text: str) -> bool:
    """Whether a text is English prose, by the share of its function words; tables and other languages are not.

    Examples
    --------
    >>> reads_as_english("Rye is a grain that is grown in the north of Europe and baked into dark bread.")
    True
    >>> reads_as_english("Les États membres exigent que le prêteur et son client signent le contrat de crédit.")
    False
    """
    words = [word.lower() for word in _WORDS.findall(text)[:_MANY_WORDS]]
    return bool(words) and sum(word in _FUNCTION_WORDS for word in words) >= ENGLISH_SHARE * len(words)


def shown_text(document: Document, words: int, about: Iterable[str] = ()) -> str:
    """A document as a prompt shows it.

    Parameters
    ----------
    document
        a title such as "None" is not shown.
    words
        a document of at most so many words is shown whole.
    about
        texts whose words tell which passages of a longer document matter. Its first passage is always there.

    Examples
    --------
    >>> shown_text(Document("d1", "One two three."), 10)
    'One two three.'
    >>> long = Document("d1", " ".join(["Oats are grown here."] * 40 + ["Rye is baked."] + ["Wheat is sold."] * 60))
    >>> shown = shown_text(long, 130, ["rye"])
    >>> "Rye is baked." in shown, shown.splitlines()[-1]
    (True, '[162 words are left out here]')
    """
    text = text_without_placeholder(document)
    if len(text.split()) <= words:
        return " ".join(text.split())
    passages = _passages(text)
    asked = {word_stem(word) for topic in about for word in normalised(topic).split()} - _FUNCTION_WORDS
    hits = [len(asked & {word_stem(word) for word in normalised(passage).split()}) for passage in passages]
    order = [0, *sorted(range(1, len(passages)), key=lambda place: (-hits[place], place))]
    kept, left = set[int](), words
    for place in order:
        length = len(passages[place].split())
        if length <= left or not kept:
            kept.add(place)
            left -= length
    return _with_gaps(passages, kept)


def numbered_documents(documents: Iterable[Document], words: int, about: Sequence[str]) -> str:
    """Several documents for one prompt; see :func:`shown_text`.

    Examples
    --------
    >>> print(numbered_documents([Document("d1", "Rye."), Document("d2", "Oats.")], 100, []))
    <document number="1">
    Rye.
    </document>
    <BLANKLINE>
    <document number="2">
    Oats.
    </document>
    """
    texts = (shown_text(document, words, about) for document in documents)
    return "\n\n".join(f'<document number="{n}">\n{text}\n</document>' for n, text in enumerate(texts, 1))


def _passages(text: str) -> list[str]:
    """Runs of whole sentences, each of some sixty words; a sentence without an end is cut into such runs."""
    passages: list[str] = []
    current: list[str] = []
    for sentence in _SENTENCE_END.split(text):
        words = sentence.split()
        while len(words) > 2 * _PASSAGE:
            current += words[:_PASSAGE]
            words = words[_PASSAGE:]
            passages.append(" ".join(current))
            current = []
        current += words
        if len(current) >= _PASSAGE:
            passages.append(" ".join(current))
            current = []
    return [*passages, " ".join(current)] if current else passages


def _with_gaps(passages: Sequence[str], kept: set[int]) -> str:
    lines, gap = [], 0
    for place, passage in enumerate(passages):
        if place not in kept:
            gap += len(passage.split())
            continue
        if gap:
            lines.append(_told(gap))
            gap = 0
        lines.append(passage)
    return "\n".join([*lines, _told(gap)] if gap else lines)


def _told(words: int) -> str:
    return f"[{words:,} words are left out here]"

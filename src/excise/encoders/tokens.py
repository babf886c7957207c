"""Texts as tokens. Nothing here is ever switched or set between calls, so that any number of threads may share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from excise.errors import BackboneError, InvalidInput

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_TEXTS = 128  # texts tokenised at a time: what the library keeps of each is far larger than its ids


@dataclass(frozen=True, eq=False)
class Pieces:
    """The tokens of a text: their ids, and the characters that each stands for, (-1, -1) where it stands for none."""

    ids: list[int]
    spans: NDArray[np.int64]


class TextTokenizer:
    """Cuts texts into an encoder's tokens.

    Parameters
    ----------
    content
        a tokenizer as the tokenizers library writes it. Padding and truncation that it was written with do not count.
    mask
        the token that hides another one in training; None where the encoder knows none.

    Raises
    ------
    BackboneError
        where the content is no tokenizer.
    """

    def __init__(self, content: str, mask: str | None = "[MASK]") -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer: Tokenizer = Tokenizer.from_str(content)
        except Exception as error:  # the library raises nothing more particular
            raise BackboneError(f"this is not a tokenizer: {error}.") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._mask = mask

    @property
    def content(self) -> str:
        """The tokenizer as the tokenizers library writes it."""
        return str(self._tokenizer.to_str())

    @property
    def mask_id(self) -> int:
        """The id of the token that hides another one in training."""
        found = None if self._mask is None else self._tokenizer.token_to_id(self._mask)
        if found is None:
            raise BackboneError(f"this encoder has no mask token ({self._mask!r}) to hide others in training.")
        return int(found)

    @property
    def special_ids(self) -> list[int]:
        """The ids of tokens that stand for no text."""
        return [id for id, token in self._tokenizer.get_added_tokens_decoder().items() if token.special]

    def ids(self, texts: Sequence[str], prompt: str = "", most: int | None = None) -> list[list[int]]:
        """The token ids of each text.

        Parameters
        ----------
        texts
            what to tokenise.
        prompt
            what is put before each text.
        most
            the most tokens of a text, special ones included; what closes a text stays when it is cut.
        """
        return [encoding.ids[:keep] + encoding.ids[close:] for encoding, keep, close in self._cut(texts, prompt, most)]

    def pieces(self, text: str, prompt: str = "", most: int | None = None) -> Pieces:
        """The tokens of one text with their places in it; a prompt's tokens stand for none of its characters."""
        encoding, keep, close = next(self._cut([text], prompt, most))
        spans = _spans(encoding, len(prompt))
        return Pieces(encoding.ids[:keep] + encoding.ids[close:], np.concatenate([spans[:keep], spans[close:]]))

    def parts(self, text: str, most: int, overlap: int) -> list[Pieces]:
        """The tokens of one text in parts of at most so many, each with the special tokens of a whole text.

        Parameters
        ----------
        text
            what to tokenise.
        most
            the most tokens of a part, special ones included.
        overlap
            how many tokens of a part are repeated in the next one.
        """
        encoding = self._tokenizer.encode(text)
        ids, spans = encoding.ids, _spans(encoding, 0)
        first, last = _inside(encoding)
        room = most - first - (len(ids) - last)
        if room <= overlap:
            raise InvalidInput(f"parts of {most} tokens cannot overlap by {overlap}.")
        starts = range(first, max(last - overlap, first + 1), room - overlap)
        return [
            Pieces(
                ids[:first] + ids[start : min(start + room, last)] + ids[last:],
                np.concatenate([spans[:first], spans[start : min(start + room, last)], spans[last:]]),
            )
            for start in starts
        ]

    def count(self, text: str) -> int:
        """How many tokens a text has, special ones not counted."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _cut(self, texts: Sequence[str], prompt: str, most: int | None) -> Iterator[tuple[Encoding, int, int]]:
        """Each text's encoding, and what of it counts: so many from the start, and from a place near the end."""
        for start in range(0, len(texts), _TEXTS):
            for encoding in self._tokenizer.encode_batch([prompt + text for text in texts[start : start + _TEXTS]]):
                size = len(encoding.ids)
                if most is None or size <= most:
                    yield encoding, size, size
                else:
                    close = _inside(encoding)[1]
                    yield encoding, max(0, most - (size - close)), close


def _inside(encoding: Encoding) -> tuple[int, int]:
    """Where the text's own tokens start and end among the special ones that enclose it."""
    special = np.array(encoding.special_tokens_mask, dtype=bool)
    own = np.flatnonzero(~special)
    return (int(own[0]), int(own[-1]) + 1) if own.size else (len(special) // 2, len(special) // 2)


def _spans(encoding: Encoding, shift: int) -> NDArray[np.int64]:
    spans = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2) - shift
    spans[(spans[:, 0] < 0) | (spans[:, 1] <= spans[:, 0])] = -1
    return spans

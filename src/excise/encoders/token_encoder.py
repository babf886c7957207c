"""What an encoder is to the rest of excise: texts in, token vectors out, whatever is inside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from torch import Tensor, nn

from excise.encoders.batching import PADDED_TOKENS
from excise.encoders.fingerprints import FileState, file_states
from excise.encoders.tokens import TextTokenizer

if TYPE_CHECKING:
    from excise.encoders.lora import SwitchedLora

Task = Literal["query", "document"]


class TokenVectors(NamedTuple):
    """Token vectors of several texts, padded to the longest: texts by tokens by dimensions, and which tokens count."""

    vectors: Tensor
    mask: Tensor


class TextVectors(NamedTuple):
    """Token vectors of one text, tokens by dimensions, and which tokens count."""

    vectors: Tensor
    mask: Tensor


class Second(NamedTuple):
    """The last ``texts`` of a pass are read with low-rank terms on."""

    terms: SwitchedLora
    texts: int


class TokenEncoder(nn.Module, ABC):
    """Gives every token of a text a vector of length one. Any number of threads may share one.

    Attributes
    ----------
    tokenizer
        cuts texts into the encoder's tokens.
    prompts
        what is put before a text, by task.
    dimensions
        the width of its vectors.
    positions
        the most tokens of one text that it can read.
    pass_tokens
        how many tokens of several texts, padding included, are best encoded at once.
    in_threads
        whether passes are best spread over the processor's cores, one to each.
    """

    tokenizer: TextTokenizer
    prompts: Mapping[str, str]
    dimensions: int
    positions: int
    pass_tokens: int = PADDED_TOKENS
    in_threads: bool = True
    _origin: tuple[FileState, ...] = ()
    _loaded: int = 0

    @abstractmethod
    def forward(self, texts: Sequence[str], task: Task, most: int) -> TokenVectors:
        """Token vectors of texts, each with the task's prompt before it and cut at so many tokens."""

    def each(self, texts: Sequence[str], task: Task, most: int, second: Second | None = None) -> list[TextVectors]:
        """Token vectors of each text in one pass, or in two where part of the texts is read with terms on."""
        frozen = len(texts) - (second.texts if second else 0)
        found = list(map(TextVectors, *self(texts[:frozen], task, most))) if frozen else []
        if second is not None and second.texts:
            with second.terms.active():
                found += map(TextVectors, *self(texts[frozen:], task, most))
        return found

    @property
    @abstractmethod
    def transformer(self) -> nn.Module:
        """The stack of layers: ``transformer(input_ids, attention_mask).last_hidden_state``."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The width of the transformer's hidden states."""

    @abstractmethod
    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        """Every weight with its name, in an order of its own: what a fingerprint is taken of."""

    @abstractmethod
    def save_pretrained(self, folder: str | Path) -> None:
        """Write the encoder as a checkpoint of sentence-transformers."""

    @property
    def origin(self) -> tuple[FileState, ...]:
        """The files that its weights were read from; none once the weights have been changed."""
        return self._origin if self._changes() == self._loaded else ()

    def _came_from(self, files: Sequence[Path]) -> None:
        """Note which files hold the weights as they are now."""
        self._origin, self._loaded = file_states(files), self._changes()

    def _changes(self) -> int:
        """How often weights have been written to in place, which is how training and folding change them."""
        return sum(parameter._version for parameter in self.parameters())

"""The detector: reads a query, and finds the words that name what it excludes, if it excludes anything.

An encoder that was trained for it and a linear head give each token the chances of three tags: outside of any topic,
the first token of one, inside of one; a second head reads off the query as a whole whether anything is excluded. The
detector fires when the mean of two logits, that of the strongest content token and that of the whole, passes the
threshold. It needs the text of the query only, so the shipped one serves any backbone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.cores import on_all_cores
from excise.encoders.backbone import DEFAULT, load_backbone
from excise.encoders.batching import PADDED_TOKENS, batches, padded
from excise.errors import BackboneError, InvalidInput
from excise.model_folders import model_folder
from excise.results import Detection
from excise.text import checked_query
from excise.topics.spans import Token, read_topics
from excise.topics.words import is_content

if TYPE_CHECKING:
    from torch import Tensor

    from excise.encoders.token_encoder import TokenEncoder
    from excise.encoders.tokens import Pieces, TextTokenizer
    from excise.topics.tagger import TokenTagger

WEIGHTS, CONFIG = "detector.safetensors", "detector.json"
COMPANION = "companion"  # a folder in the detector's, with another one that reads along
REACH = "reach.safetensors"  # how far inputs of the encoder's linear maps reach: what eight bits must hold
ENCODER, TOKENIZER = "config.json", "tokenizer.json"  # only where the encoder is the detector's own
_MEMBER = 0.5  # a token belongs to a topic above this share of the likeliest one's probability,
_BESIDE = 0.3  # or above this one where it stands in a run of such tokens with one that does
_CLEAR = 0.001  # what the companion finds less likely than this is not read a second time
_WINDOW = 192  # tokens read at a time: longer queries are read in parts, no longer than what training has seen


@dataclass(frozen=True)
class DetectorConfig:
    """How a detector is made: its encoder, the size of its adaptation, and the threshold it fires at.

    With a rank of 0 the whole encoder was trained, and stands in the detector's own file: ``encoder`` then only says
    what it was made from. The threshold of a detector that is not calibrated yet is the paper's theta.
    """

    encoder: str = "minilm"
    rank: int = 32
    alpha: float = 32.0
    last_layers: int = 6
    threshold: float = 0.76


class Tagged(NamedTuple):
    """The tokens of a query that stand for characters of it: which, and how likely each names an excluded topic."""

    spans: NDArray[np.int64]
    chances: NDArray[np.float64]


class _Part(NamedTuple):
    """What a tagger says of a part of a query, in logits.

    Attributes
    ----------
    spans, tokens
        the tokens' places in the query, and that each one names an excluded topic.
    content
        which of them can name anything.
    whole
        that anything is excluded, read off the token that stands for all of them; None where nobody has learned that.
    """

    spans: NDArray[np.int64]
    tokens: NDArray[np.float64]
    content: NDArray[np.bool_]
    whole: float | None

    @property
    def score(self) -> float:
        """The chance that anything is excluded, which the strongest content token and the whole speak for alike."""
        if not self.content.any():
            return 0.0
        strongest = float(self.tokens[self.content].max())
        return float(_chances(np.array(strongest if self.whole is None else (strongest + self.whole) / 2)))

    def with_other(self, other: _Part) -> _Part:
        """The mean of two readings of the same tokens; of the whole, where only one has learned that, its own."""
        if not np.array_equal(self.spans, other.spans):
            raise BackboneError("a detector and its companion must cut words alike: give both the same tokenizer.")
        wholes = [part.whole for part in (self, other) if part.whole is not None]
        whole = sum(wholes) / len(wholes) if wholes else None
        return _Part(self.spans, (self.tokens + other.tokens) / 2, self.content, whole)


class _Reading(NamedTuple):
    """A query as it was read: its tokens' places and chances, and the score of the whole."""

    spans: NDArray[np.int64]
    chances: NDArray[np.float64]
    score: float

    @classmethod
    def of(cls, parts: Sequence[_Part]) -> _Reading:
        """The parts of a query as one: it excludes something where one of them does."""
        spans = np.concatenate([part.spans for part in parts])
        return cls(spans, _chances(np.concatenate([part.tokens for part in parts])), max(part.score for part in parts))


class Detector:
    """Finds the excluded topics of queries. Any number of threads may share one.

    Load one with :meth:`from_pretrained` or :func:`load_detector`.
    """

    def __init__(
        self,
        tagger: TokenTagger,
        tokenizer: TextTokenizer,
        config: DetectorConfig,
        companion: Detector | None = None,
        reach: Mapping[str, Tensor] | None = None,
    ) -> None:
        self.tagger = tagger.eval()
        self.tokenizer = tokenizer
        self.config = config
        self.companion = companion
        self._reach = reach  # of the inputs of the encoder's linear maps, for eight bits

    @property
    def _eight_bits(self) -> bool:
        from excise.encoders.eight_bits import EightBitBert

        return isinstance(self.tagger.encoder, EightBitBert)

    @classmethod
    def untrained(cls, config: DetectorConfig | None = None) -> Detector:
        """A detector with fresh weights, to be trained."""
        from excise.topics.tagger import TokenTagger

        config = config or DetectorConfig()
        encoder = _encoder(config)
        tagger = TokenTagger(encoder.transformer, encoder.width, config.rank, config.alpha, config.last_layers)
        return cls(tagger, encoder.tokenizer, config)

    @classmethod
    def to_train_on(cls, folder: str | Path) -> Detector:
        """A detector that :meth:`save_pretrained` wrote, in floats, to be trained further; without its companion."""
        from safetensors.torch import load_file

        from excise.encoders.bert import Bert, attend_to_all
        from excise.encoders.lora import unfreeze

        path = Path(folder)
        with _named(path):
            config = read_config(path)
            state = load_file(path / WEIGHTS)
            if not _holds_encoder(path, config):
                detector = cls.untrained(config)
                detector.tagger.load_state(state)
                return detector
            tagger, tokenizer = _whole(path, state)
        if isinstance(tagger.encoder, Bert):
            attend_to_all(tagger.encoder)
        unfreeze(tagger.encoder, config.last_layers)
        return cls(tagger, tokenizer, config)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Detector:
        """Load a detector that :meth:`save_pretrained` wrote, with the companion in its folder where there is one."""
        from safetensors.torch import load_file

        path = Path(folder)
        with _named(path):
            config = read_config(path)
            state = load_file(path / WEIGHTS)
            whole = _whole(path, state) if _holds_encoder(path, config) else None
            reach = load_file(path / REACH) if (path / REACH).exists() else None
        companion = cls.from_pretrained(path / COMPANION)._in_eight_bits() if (path / COMPANION).is_dir() else None
        if whole is not None:
            return cls(*whole, config, companion, reach)._in_eight_bits()
        detector = cls.untrained(config)
        detector.tagger.load_state(state)
        detector.tagger.fold()
        return cls(detector.tagger, detector.tokenizer, config, companion, reach)

    def save_pretrained(self, folder: str | Path, samples: Sequence[str] = ()) -> None:
        """Write the trained weights and the configuration; the encoder too where all of it was trained.

        Parameters
        ----------
        folder
            where to.
        samples
            queries that show how large numbers grow inside such an encoder: eight bits then hold them more exactly.
        """
        from safetensors.torch import save_file

        from excise.encoders.bert import Bert, write_shape
        from excise.encoders.packed import pack

        path, encoder = Path(folder), self.tagger.encoder
        if self._eight_bits:
            raise InvalidInput(
                "a detector that was loaded with eight-bit weights is not written again: copy its folder."
            )
        path.mkdir(parents=True, exist_ok=True)
        if self.config.rank == 0 and isinstance(encoder, Bert):
            write_shape(encoder.shape, path / ENCODER)
            (path / TOKENIZER).write_text(self.tokenizer.content, encoding="utf-8")
            save_file(pack(self.tagger.state_dict()), path / WEIGHTS)
        else:
            save_file(self.tagger.state(), path / WEIGHTS)
        (path / WEIGHTS).chmod(0o644)
        (path / CONFIG).write_text(json.dumps(asdict(self.config), indent=1) + "\n", encoding="utf-8")
        self.save_reach(path, samples)

    def save_reach(self, folder: Path, samples: Sequence[str]) -> None:
        """Write how far inputs of the encoder's linear maps reach in some queries, for computing in eight bits."""
        from safetensors.torch import save_file

        from excise.encoders.bert import Bert
        from excise.encoders.eight_bits import input_reach

        encoder = self.tagger.encoder
        if samples and isinstance(encoder, Bert):
            texts = (self.tokenizer.pieces(text, most=_WINDOW).ids for text in samples)
            save_file(input_reach(encoder, texts), folder / REACH)
            (folder / REACH).chmod(0o644)

    def detect(self, queries: Sequence[str], threshold: float | None = None) -> list[Detection]:
        """What each query excludes.

        Parameters
        ----------
        queries
            the queries.
        threshold
            fire above this score, from 0 to 1; by default above the detector's own.

        Examples
        --------
        >>> detection = load_detector().detect(["electric cars, but not Tesla"])[0]
        >>> detection.fired, [topic.text for topic in detection.topics]
        (True, ['Tesla'])
        >>> load_detector().detect(["electric cars, but not Tesla"], threshold=1.0)[0].fired
        False
        """
        fires_above = self.config.threshold if threshold is None else _checked_threshold(threshold)
        texts = [checked_query(query) for query in queries]
        read = self._read(texts, min(_CLEAR, fires_above))
        return [_detection(text, reading, fires_above) for text, reading in zip(texts, read, strict=True)]

    def tag(self, queries: Sequence[str]) -> list[Tagged]:
        """Each token's probability. A query longer than the encoder reads is read in several parts, which overlap."""
        return [Tagged(reading.spans, reading.chances) for reading in self._read(queries)]

    def _in_eight_bits(self) -> Detector:
        """The same detector, faster: it can be asked from now on, and neither trained nor written."""
        import torch

        from excise.encoders.bert import Bert
        from excise.encoders.eight_bits import EightBitBert

        encoder = self.tagger.encoder
        if isinstance(encoder, Bert) and torch.backends.quantized.engine != "none":
            self.tagger.encoder = EightBitBert(encoder, self._reach)
        return self

    def _read(self, queries: Sequence[str], clear: float = 0.0) -> list[_Reading]:
        """Each query as both networks read it; as the companion, the smaller, does where it scores below ``clear``."""
        return [_Reading.of(parts) for parts in self._parts_read(queries, clear)]

    def _parts_read(self, queries: Sequence[str], clear: float) -> list[list[_Part]]:
        if self.companion is None:
            return self._read_alone(queries)
        read = self.companion._parts_read(queries, 0.0)
        doubtful = [i for i, parts in enumerate(read) if max(part.score for part in parts) >= clear]
        for i, own in zip(doubtful, self._read_alone([queries[i] for i in doubtful]), strict=True):
            if len(own) != len(read[i]):
                raise BackboneError("a detector and its companion must cut words alike: give both the same tokenizer.")
            read[i] = [part.with_other(other) for part, other in zip(own, read[i], strict=True)]
        return read

    def _read_alone(self, queries: Sequence[str]) -> list[list[_Part]]:
        import torch

        pieces = [self.tokenizer.parts(query, _WINDOW, _WINDOW // 3) for query in queries]
        flat = [(query, part) for query, own in zip(queries, pieces, strict=True) for part in own]
        read: dict[int, _Part] = {}

        def fill(batch: list[int]) -> None:
            ids, mask = padded([flat[i][1].ids for i in batch])
            with torch.inference_mode():
                judged = self.tagger(ids, mask)
            excluded = judged.excluded.double().numpy()
            whole = [None] * len(batch) if judged.query is None else judged.query.tolist()
            for i, *row in zip(batch, excluded, whole, strict=True):
                read[i] = _part(*flat[i], *row)

        # Eight-bit weights read one text at a time, which is what makes a batch change nothing.
        room = 1 if self._eight_bits else PADDED_TOKENS
        list(on_all_cores(fill, list(batches([len(part.ids) for _, part in flat], room))))
        firsts = np.cumsum([0, *(len(own) for own in pieces)])
        return [[read[i] for i in range(a, b)] for a, b in pairwise(firsts.tolist())]


def _part(query: str, pieces: Pieces, excluded: NDArray[np.float64], whole: float | None) -> _Part:
    """What the tagger's logits say of one part of a query: of its own tokens, the special ones left out."""
    own = np.flatnonzero(pieces.spans[:, 0] >= 0)
    content = np.array([is_content(query[start:end]) for start, end in pieces.spans[own]], dtype=np.bool_)
    return _Part(pieces.spans[own], excluded[own], content, whole)


def _chances(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.exp(-np.logaddexp(0.0, -logits)))  # no logit is too large for it


def _detection(query: str, read: _Reading, threshold: float) -> Detection:
    if read.score <= threshold:
        return Detection(query, False, read.score, ())
    strongest = float(read.chances.max())
    tokens = (Token(int(a), int(b), float(chance)) for (a, b), chance in zip(read.spans, read.chances, strict=True))
    topics = read_topics(query, tokens, _MEMBER * strongest, _BESIDE * strongest)
    return Detection(query, bool(topics), read.score, topics)


def _checked_threshold(threshold: float) -> float:
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise InvalidInput(f"a threshold must be a number from 0 to 1, got {threshold!r}.")
    return float(threshold)


def _encoder(config: DetectorConfig) -> TokenEncoder:
    """An encoder of the detector's own, whose weights it may change."""
    from excise.encoders.bert import attend_to_all, is_bert
    from excise.encoders.embedded import EmbeddedEncoder, embedded_encoder

    if config.encoder == DEFAULT:
        own = embedded_encoder(projected=False)
    elif config.rank == 0 and is_bert(Path(config.encoder)):  # which can be written whole, with a detector
        own = EmbeddedEncoder(Path(config.encoder), None)
    else:
        return load_backbone(config.encoder).encoder
    if config.rank == 0:
        attend_to_all(own.bert)
    return own


def _holds_encoder(folder: Path, config: DetectorConfig) -> bool:
    """Whether a detector's folder has all of its encoder; else it has what was trained, and the rest is elsewhere."""
    return config.rank == 0 and (folder / ENCODER).exists()


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Say of which folder something is wrong that does not hold a detector."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
        raise BackboneError(f"{folder} does not hold a detector: {error}.") from error


def read_config(folder: Path) -> DetectorConfig:
    """The configuration of a detector that was written to a folder."""
    with _named(folder):
        return DetectorConfig(**json.loads((folder / CONFIG).read_text(encoding="utf-8")))


def _whole(folder: Path, stored: dict[str, Tensor]) -> tuple[TokenTagger, TextTokenizer]:
    """The network and the tokenizer of a folder that holds all of both."""
    import torch

    from excise.encoders.bert import Bert, read_shape
    from excise.encoders.packed import unpack
    from excise.encoders.tokens import TextTokenizer
    from excise.topics.tagger import TokenTagger

    shape = read_shape(folder / ENCODER)
    with torch.device("meta"):  # every weight comes from the file
        tagger = TokenTagger(Bert(shape), shape.hidden_size, 0, 1.0, shape.num_hidden_layers)
    tagger.load_state_dict(unpack(stored), assign=True)
    return tagger, TextTokenizer((folder / TOKENIZER).read_text(encoding="utf-8"))


@cache
def load_detector() -> Detector:
    """The detector that ships with excise, or the one of ``EXCISE_MODELS``."""
    return Detector.from_pretrained(model_folder("detector"))

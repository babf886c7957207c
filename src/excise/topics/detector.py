"""The detector: reads a query, and finds the words that name what it excludes, if it excludes anything.

A low-rank adaptation of the encoder and a linear head give each token the probability that it names an excluded topic.
The detector fires when the largest of them passes the threshold; the topics are then the words over it. It
needs the text of the query only, so the shipped one serves any backbone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.encoders.backbone import DEFAULT, load_backbone
from excise.encoders.batching import batches, padded
from excise.errors import BackboneError, InvalidInput
from excise.results import Detection
from excise.text import checked_query
from excise.topics.spans import read_topics
from excise.topics.words import is_content

if TYPE_CHECKING:
    from excise.encoders.token_encoder import TokenEncoder
    from excise.encoders.tokens import TextTokenizer
    from excise.topics.tagger import TokenTagger

WEIGHTS, CONFIG = "detector.safetensors", "detector.json"
_MEMBER = 0.36  # a token belongs to a topic above this probability; where none reaches it, above the threshold
_WINDOW = 192  # tokens read at a time: longer queries are read in parts, no longer than what training has seen


@dataclass(frozen=True)
class DetectorConfig:
    """How a detector is made: its encoder, the size of its adaptation, and the threshold it fires at.

    The threshold of a detector that is not calibrated yet is the paper's theta.
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


class Detector:
    """Finds the excluded topics of queries. Any number of threads may share one.

    Load one with :meth:`from_pretrained` or :func:`load_detector`.
    """

    def __init__(self, tagger: TokenTagger, tokenizer: TextTokenizer, config: DetectorConfig) -> None:
        self.tagger = tagger.eval()
        self.tokenizer = tokenizer
        self.config = config

    @classmethod
    def untrained(cls, config: DetectorConfig | None = None) -> Detector:
        """A detector with fresh weights, to be trained."""
        from excise.topics.tagger import TokenTagger

        config = config or DetectorConfig()
        encoder = _encoder(config.encoder)
        tagger = TokenTagger(encoder, config.rank, config.alpha, config.last_layers)
        return cls(tagger, encoder.tokenizer, config)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Detector:
        """Load a detector that :meth:`save_pretrained` wrote."""
        from safetensors.torch import load_file

        path = Path(folder)
        try:
            config = DetectorConfig(**json.loads((path / CONFIG).read_text(encoding="utf-8")))
            state = load_file(path / WEIGHTS)
        except (OSError, ValueError, TypeError) as error:
            raise BackboneError(f"{path} does not hold a detector: {error}.") from error
        detector = cls.untrained(config)
        detector.tagger.load_state(state)
        detector.tagger.fold()
        return detector

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the trained weights and the configuration. The encoder's own weights are not written."""
        from safetensors.torch import save_file

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        save_file(self.tagger.state(), path / WEIGHTS)
        (path / WEIGHTS).chmod(0o644)
        (path / CONFIG).write_text(json.dumps(asdict(self.config), indent=1) + "\n", encoding="utf-8")

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
        tagged = self.tag(texts)
        return [_detection(text, tokens, fires_above) for text, tokens in zip(texts, tagged, strict=True)]

    def tag(self, queries: Sequence[str]) -> list[Tagged]:
        """Each token's probability. A query longer than the encoder reads is read in several parts, which overlap."""
        import torch

        parts = [self.tokenizer.parts(query, _WINDOW, _WINDOW // 3) for query in queries]
        flat = [part for own in parts for part in own]
        chances: list[NDArray[np.float64]] = [np.empty(0)] * len(flat)
        for batch in batches([len(part.ids) for part in flat]):
            ids, mask = padded([flat[i].ids for i in batch])
            with torch.inference_mode():
                rows = torch.sigmoid(self.tagger(ids, mask)).double().numpy()
            for i, row in zip(batch, rows, strict=True):
                chances[i] = row[: len(flat[i].ids)]
        found, first = [], 0
        for own in parts:
            spans = np.concatenate([part.spans for part in own])
            joined = np.concatenate(chances[first : first + len(own)])
            found.append(Tagged(spans[spans[:, 0] >= 0], joined[spans[:, 0] >= 0]))
            first += len(own)
        return found


def _detection(query: str, tagged: Tagged, threshold: float) -> Detection:
    content = [is_content(query[start:end]) for start, end in tagged.spans]
    score = float(tagged.chances[content].max()) if any(content) else 0.0
    fired = score > threshold
    member = _MEMBER if score > _MEMBER else threshold  # whatever fired must be a topic
    tokens = ((int(start), int(end), float(chance)) for (start, end), chance in zip(*tagged, strict=True))
    return Detection(query, fired, score, read_topics(query, tokens, member) if fired else ())


def _checked_threshold(threshold: float) -> float:
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise InvalidInput(f"a threshold must be a number from 0 to 1, got {threshold!r}.")
    return float(threshold)


def _encoder(name: str) -> TokenEncoder:
    """An encoder of the detector's own, whose weights it may change."""
    if name == DEFAULT:
        from excise.encoders.embedded import embedded_encoder

        return embedded_encoder(projected=False)
    return load_backbone(name).encoder


@cache
def load_detector() -> Detector:
    """The detector that ships with excise."""
    return Detector.from_pretrained(Path(str(files("excise") / "models" / "detector")))

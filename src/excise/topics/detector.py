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
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from excise.encoders.backbone import MAX_QUERY_WORDS, load_backbone, plain_embedded_encoder
from excise.encoders.lora import inject, load_lora_state, lora_state, merge
from excise.errors import BackboneError, InvalidInput
from excise.results import Detection
from excise.rules.paper import Constants
from excise.topics.spans import read_topics
from excise.topics.words import is_content

WEIGHTS, CONFIG = "detector.safetensors", "detector.json"
_MEMBER = 0.36  # a token belongs to a topic above this probability; where none reaches it, above the threshold
_BATCH = 32
_WINDOW = 192  # tokens read at a time: longer queries are read in parts, no longer than what training has seen


@dataclass(frozen=True)
class DetectorConfig:
    """How a detector is made: its encoder, the size of its adaptation, and the threshold it fires at."""

    encoder: str = "minilm"
    rank: int = 32
    alpha: float = 32.0
    last_layers: int = 6
    threshold: float = Constants().fire_threshold


class TokenTagger(nn.Module):
    """The encoder with its low-rank terms, and a linear head that gives each token one logit."""

    def __init__(self, encoder: nn.Module, width: int, config: DetectorConfig) -> None:
        super().__init__()
        self.encoder = encoder
        inject(encoder, config.rank, config.alpha, config.last_layers)
        self.head = nn.Linear(width, 1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        logits: Tensor = self.head(hidden).squeeze(-1)
        return logits

    def state(self) -> dict[str, Tensor]:
        """The trained weights: the low-rank terms and the head."""
        head = {f"head.{name}": tensor.detach().clone() for name, tensor in self.head.named_parameters()}
        return {**{f"encoder.{name}": tensor for name, tensor in lora_state(self.encoder).items()}, **head}

    def load_state(self, state: dict[str, Tensor]) -> None:
        low_rank = {name.removeprefix("encoder."): t for name, t in state.items() if name.startswith("encoder.")}
        load_lora_state(self.encoder, low_rank)
        self.head.load_state_dict({name.removeprefix("head."): state[name] for name in ("head.weight", "head.bias")})


class Detector:
    """Finds the excluded topics of queries. Load one with :meth:`from_pretrained` or :func:`load_detector`."""

    def __init__(self, tagger: TokenTagger, tokenizer: Any, config: DetectorConfig) -> None:
        self.tagger = tagger.eval()
        self.tokenizer = tokenizer
        self.config = config

    @classmethod
    def untrained(cls, config: DetectorConfig | None = None) -> Detector:
        """A detector with fresh weights, to be trained."""
        config = config or DetectorConfig()
        encoder = plain_embedded_encoder() if config.encoder == "minilm" else load_backbone(config.encoder).encoder
        transformer: Any = encoder[0]
        width = transformer.get_embedding_dimension()
        return cls(TokenTagger(transformer.auto_model, width, config), encoder.tokenizer, config)

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
        merge(detector.tagger.encoder)
        return detector

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the trained weights and the configuration. The encoder's own weights are not written."""
        from safetensors.torch import save_file

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        save_file(self.tagger.state(), path / WEIGHTS)
        (path / WEIGHTS).chmod(0o644)
        (path / CONFIG).write_text(json.dumps(asdict(self.config), indent=1) + "\n", encoding="utf-8")

    def detect(self, queries: Sequence[str]) -> list[Detection]:
        """What each query excludes.

        Examples
        --------
        >>> detection = load_detector().detect(["electric cars, but not Tesla"])[0]
        >>> detection.fired, [topic.text for topic in detection.topics]
        (True, ['Tesla'])
        """
        for query in queries:
            words = len(query.split())
            if not words:
                raise InvalidInput("the query is empty.")
            if words > MAX_QUERY_WORDS:
                raise InvalidInput(f"the query has {words:,} words; at most {MAX_QUERY_WORDS:,} are taken.")
        order = sorted(range(len(queries)), key=lambda i: len(queries[i]))
        found: dict[int, Detection] = {}
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            for i, (spans, chances) in zip(batch, self._probabilities([queries[i] for i in batch]), strict=True):
                found[i] = self._detection(queries[i], spans, chances)
        return [found[i] for i in range(len(queries))]

    def _probabilities(self, queries: list[str]) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Each token's characters and probability. A query longer than the encoder reads is read in several parts."""
        encoded = self.tokenizer(
            queries,
            padding=True,
            truncation=True,
            max_length=_WINDOW,
            stride=_WINDOW // 3,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        with torch.inference_mode():
            logits = self.tagger(encoded["input_ids"], encoded["attention_mask"])
        chances = torch.sigmoid(logits).double().numpy()
        offsets = encoded["offset_mapping"].numpy()
        parts: list[list[int]] = [[] for _ in queries]
        for row, query in enumerate(encoded["overflow_to_sample_mapping"].tolist()):
            parts[query].append(row)
        return [(np.concatenate(offsets[rows]), np.concatenate(chances[rows])) for rows in parts]

    def _detection(self, query: str, spans: NDArray[np.int64], chances: NDArray[np.float64]) -> Detection:
        content = [is_content(query[start:end]) for start, end in spans]
        score = float(chances[content].max()) if any(content) else 0.0
        fired = score > self.config.threshold
        member = _MEMBER if score > _MEMBER else self.config.threshold  # whatever fired must be a topic
        tokens = ((int(start), int(end), float(chance)) for (start, end), chance in zip(spans, chances, strict=True))
        return Detection(query, fired, score, read_topics(query, tokens, member) if fired else ())


@cache
def load_detector() -> Detector:
    """The detector that ships with excise."""
    return Detector.from_pretrained(Path(str(files("excise") / "models" / "detector")))

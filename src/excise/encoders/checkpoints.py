"""Encoders of every other kind: ColBERT checkpoints of PyLate, Stanford and sentence-transformers, and plain encoders.

They are loaded and run by sentence-transformers, which is imported here and nowhere else.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from excise.encoders.token_encoder import Task, TokenEncoder, TokenVectors
from excise.encoders.tokens import TextTokenizer
from excise.errors import InvalidInput

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

_DEVICE_TOKENS = 16_384  # graphics cards are fast only when they have much to do at once


class CheckpointEncoder(TokenEncoder):
    """A late-interaction model of sentence-transformers."""

    def __init__(self, pipeline: MultiVectorEncoder, files: Sequence[Path] = ()) -> None:
        super().__init__()
        self.pipeline: MultiVectorEncoder = pipeline.eval().requires_grad_(False)
        inner = self.pipeline.tokenizer
        self.tokenizer = TextTokenizer(inner.backend_tokenizer.to_str(), inner.mask_token)
        self.prompts = {task: prompt for task, prompt in self.pipeline.prompts.items() if prompt}
        self.dimensions = int(self.pipeline.get_embedding_dimension() or self.width)
        self.positions = int(self.transformer.config.max_position_embeddings)
        if self.pipeline.device.type != "cpu":
            self.pass_tokens, self.in_threads = _DEVICE_TOKENS, False
        # The pipeline's own tokenizer is switched between lengths and sides by every call.
        self._tokenizing = Lock()
        self._came_from(files)

    @property
    def transformer(self) -> Any:
        return self.pipeline[0].auto_model

    @property
    def width(self) -> int:
        first: Any = self.pipeline[0]
        return int(first.get_embedding_dimension())

    def forward(self, texts: Sequence[str], task: Task, most: int) -> TokenVectors:
        prompt = self.prompts.get(task)
        with self._tokenizing:
            features = self.pipeline.preprocess(list(texts), prompt=prompt, task=task, max_length=most)
        device = self.pipeline.device
        features = {name: part.to(device) if isinstance(part, Tensor) else part for name, part in features.items()}
        output = self.pipeline(features, task=task)
        return TokenVectors(output["token_embeddings"], output["attention_mask"].bool())

    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.pipeline.state_dict().items()

    def save_pretrained(self, folder: str | Path) -> None:
        self.pipeline.save_pretrained(str(folder))


def load_checkpoint(source: str, lengths: tuple[int, int], prefixes: tuple[str, str] | None) -> CheckpointEncoder:
    """Load an encoder from a folder or the hub.

    Parameters
    ----------
    source
        a folder, or a hub id.
    lengths
        the most tokens of a query and of a document.
    prefixes
        the prompts of queries and documents, where the checkpoint names none.
    """
    quiet()
    pipeline = _colbert(source) if _is_colbert(source) else plain_pipeline(source)
    return CheckpointEncoder(_bounded(pipeline, lengths, prefixes), _files(source))


def plain_pipeline(source: str, projection: Tensor | None = None) -> MultiVectorEncoder:
    """An ordinary encoder as a late-interaction model: its token vectors, projected only by fitted weights."""
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.base.modules.dense import Dense
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    modules: list[Any] = [Transformer(source, model_kwargs={"use_safetensors": True})]
    if projection is not None:
        modules.append(
            Dense(
                projection.shape[1],
                projection.shape[0],
                bias=False,
                activation_function=nn.Identity(),
                init_weight=projection,
                module_input_name="token_embeddings",
            )
        )
    modules += [MultiVectorMask(), Normalize(module_input_name="token_embeddings")]
    return MultiVectorEncoder(modules=modules, device="cpu")


def marked_pipeline(source: str, markers: tuple[str, str], projection: Tensor | None = None) -> MultiVectorEncoder:
    """A plain pipeline with a marker before queries and documents: a token of the vocabulary, which is never cut."""
    pipeline = plain_pipeline(source, projection)
    known = pipeline.tokenizer.get_vocab()
    if missing := [marker for marker in markers if marker and marker not in known]:
        raise InvalidInput(f"{source} has no token {missing[0]!r}: name markers of its vocabulary, or none.")
    pipeline.tokenizer.add_special_tokens({"additional_special_tokens": [marker for marker in markers if marker]})
    pipeline.prompts = {
        task: f"{marker} " for task, marker in zip(("query", "document"), markers, strict=True) if marker
    }
    return pipeline


def quiet() -> None:
    """Keep the loaders from writing to the terminal: what goes wrong is said in an error."""
    for library in ("sentence_transformers", "transformers", "huggingface_hub"):
        logging.getLogger(library).setLevel(logging.ERROR)
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def _colbert(source: str) -> MultiVectorEncoder:
    from sentence_transformers import MultiVectorEncoder

    return MultiVectorEncoder(source, model_kwargs={"use_safetensors": True})


def _is_colbert(source: str) -> bool:
    """Whether a checkpoint was trained for late interaction; the loader would give any other a random projection."""
    settings = _json_of(source, "config_sentence_transformers.json")
    if settings.get("model_type") in ("ColBERT", "MultiVectorEncoder") or "query_prefix" in settings:
        return True
    architectures = _json_of(source, "config.json").get("architectures") or []
    return any(name == "HF_ColBERT" or name.endswith("ForRetrieval") for name in architectures)


def _json_of(source: str, filename: str) -> dict[str, Any]:
    from sentence_transformers.util import load_file_path

    path = load_file_path(source, filename)
    return {} if path is None else dict(json.loads(Path(path).read_text(encoding="utf-8")))


def _files(source: str) -> list[Path]:
    """The checkpoint's files, wherever they are: what its weights depend on."""
    from sentence_transformers.util import load_file_path

    path = load_file_path(source, "config.json")
    return [] if path is None else sorted(file for file in Path(path).parent.rglob("*") if file.is_file())


def _bounded(
    pipeline: MultiVectorEncoder, lengths: tuple[int, int], prefixes: tuple[str, str] | None
) -> MultiVectorEncoder:
    """Set the lengths, and let long queries through: an exclusion often stands past the 32nd token."""
    transformer: Any = pipeline[0]
    expansion = transformer.query_expansion
    limit = transformer.auto_model.config.max_position_embeddings
    transformer.query_length, transformer.document_length = (min(length, limit) for length in lengths)
    if expansion is not None:
        transformer.query_expansion = {**expansion, "strategy": "min"}
    for task, prefix in zip(("query", "document"), prefixes or (), strict=False):
        pipeline.prompts[task] = pipeline.prompts.get(task) or prefix
    return pipeline

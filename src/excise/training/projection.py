"""The embedded backbone's projection: 384 dimensions to 248, fitted once on the bundled corpus.

The rows are the leading eigenvectors of the token vectors' second moment: of all projections of that rank, they keep
the most of the inner products that MaxSim adds up. Every word of the vocabulary counts the same however often it
occurs, so that the dimensions are not spent on "the" and on commas.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from excise.documents import Corpus
from excise.encoders.backbone import PRESETS
from excise.encoders.batching import batches
from excise.errors import InvalidInput
from excise.suites import bundled
from excise.vectors.ragged import Vectors

if TYPE_CHECKING:
    from excise.encoders.token_encoder import TokenEncoder

FILE = "minilm-projection.safetensors"
DIMENSIONS = 248  # in eight bits, with the scale of each vector, 250 bytes a token
_SPECIAL_WEIGHT = 0.1  # [CLS] and [SEP] stand in every text and name nothing


def fit_projection(vectors: Vectors, weights: NDArray[np.float64], dimensions: int) -> Vectors:
    """The projection matrix, ``dimensions`` rows, that keeps the most of the weighted vectors' inner products.

    Examples
    --------
    >>> fit_projection(np.array([[0.0, 2.0], [1.0, 0.0]]), np.ones(2), 1).tolist()
    [[0.0, 1.0]]
    """
    if not 1 <= dimensions <= vectors.shape[1]:
        raise InvalidInput(f"dimensions must be from 1 to {vectors.shape[1]}, got {dimensions}.")
    weighted = vectors.astype(np.float64) * np.sqrt(weights)[:, None]
    _, directions = np.linalg.eigh(weighted.T @ weighted)
    rows = directions[:, ::-1][:, :dimensions].T
    # An eigenvector's sign is arbitrary: fix it, so that every machine writes the same file.
    signs = np.sign(rows[np.arange(dimensions), np.abs(rows).argmax(axis=1)])
    return np.ascontiguousarray(rows * signs[:, None], dtype=np.float32)


def fitted_rows(dimensions: int = DIMENSIONS) -> Vectors:
    """The projection matrix for the embedded encoder, fitted on the bundled corpus."""
    from excise.encoders.embedded import embedded_encoder

    encoder = embedded_encoder(projected=False)
    with bundled.corpus() as path:
        texts = [document.full_text for document in Corpus([path])]
    vectors, words = _tokens(encoder, texts)
    counts = np.bincount(words)[words]
    special = np.isin(words, encoder.tokenizer.special_ids)
    weights = np.where(special, _SPECIAL_WEIGHT, 1.0) / counts
    return fit_projection(vectors, weights, dimensions)


def train_projection(folder: Path, dimensions: int = DIMENSIONS) -> Path:
    """Fit the projection on the bundled corpus and write it to a folder."""
    from safetensors.numpy import save_file

    rows = fitted_rows(dimensions)
    folder.mkdir(parents=True, exist_ok=True)
    save_file({"linear.weight": rows}, folder / FILE)
    return folder / FILE


def _tokens(encoder: TokenEncoder, texts: list[str]) -> tuple[Vectors, NDArray[np.int64]]:
    """Every token of the texts: its vector and its place in the vocabulary."""
    import torch

    most = PRESETS["minilm"].document_length
    ids = encoder.tokenizer.ids(texts, most=most)
    vectors, words = [], []
    for batch in batches([len(row) for row in ids]):
        with torch.inference_mode():
            output = encoder([texts[i] for i in batch], "document", most)
        vectors.append(output.vectors[output.mask].numpy())
        words.append(np.concatenate([ids[i] for i in batch]))
    return np.concatenate(vectors), np.concatenate(words)

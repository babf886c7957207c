"""Triples that a tiny encoder can learn: six subjects, each with one of two topics."""

from __future__ import annotations

from pathlib import Path

import pytest

from excise.documents import Document
from excise.encoders.backbone import Backbone, load_backbone
from excise.training.contrastive.triples import Triple

SUBJECTS = ["cars", "tea", "novels", "chess", "moons", "guitars"]
_TRIPLES = [
    Triple(
        f"{x} but not {z}",
        (z,),
        Document(f"{x}-{w}", f"{x} and {w} for everyone"),
        Document(f"{x}-{z}", f"{x} and {z} for everyone, all about {x}"),
        f"{x} and {z}",
        frozenset(f"{x}-{other}" for other in ("tesla", "opera")),
    )
    for x in SUBJECTS
    for z, w in (("tesla", "opera"), ("opera", "tesla"))
]


@pytest.fixture
def toy_triples() -> list[Triple]:
    return list(_TRIPLES)


@pytest.fixture
def tiny_backbone(plain_checkpoint: Path) -> Backbone:
    return load_backbone(str(plain_checkpoint))

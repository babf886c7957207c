"""A small corpus whose answers are recorded, and the server that gives them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_server import ChatServer

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.search.operator import load


@pytest.fixture(scope="session")
def small_corpus(own_documents: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four families of the bundled corpus."""
    path = tmp_path_factory.mktemp("xbench") / "corpus.jsonl"
    lines = [{"_id": d.id, "title": d.title, "text": d.text} for d in own_documents[:40]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def small_index(minilm: Backbone, small_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("xbench") / "index"
    load(backbone=minilm).index(small_corpus, folder)
    return folder


@pytest.fixture
def server() -> Iterator[ChatServer]:
    chat = ChatServer()
    yield chat
    chat.close()

"""The Qdrant engine keeps the contract, in every way to search and in memory and on disk."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from contract import EngineContract, Maker
from made_up import ENCODER

pytest.importorskip("qdrant_client")
pytestmark = pytest.mark.engines

from excise.engines import Engine  # noqa: E402
from excise.engines.qdrant.qdrant_options import MEMORY, QdrantOptions  # noqa: E402
from excise.engines.qdrant.qdrant_store import QdrantStore  # noqa: E402
from excise.engines.shared.generations import GenerationalEngine  # noqa: E402

_NUMBERS = count()


class QdrantContract(EngineContract):
    mode = "exact"

    def url(self, _tmp_path: Path) -> str:
        return MEMORY

    @pytest.fixture
    def make(self, tmp_path: Path) -> Maker:
        def made() -> Engine:
            options = QdrantOptions(self.url(tmp_path), f"made-{next(_NUMBERS)}", self.mode)  # type: ignore[arg-type]
            return GenerationalEngine.create(QdrantStore(options), ENCODER)

        return made

    def opened_again(self, engine: Engine) -> Engine:
        assert isinstance(engine, GenerationalEngine)
        assert isinstance(engine.store, QdrantStore)
        return GenerationalEngine.open(QdrantStore(engine.store.options))


class TestQdrantInMemory(QdrantContract):
    pass


class TestQdrantPooled(QdrantContract):
    mode = "pooled"


class TestQdrantHnsw(QdrantContract):
    mode = "hnsw"


class TestQdrantInAFolder(QdrantContract):
    def url(self, tmp_path: Path) -> str:
        return str(tmp_path / "qdrant")

"""The LanceDB engine keeps the contract, in both ways to search."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from contract import EngineContract, Maker
from made_up import ENCODER

pytest.importorskip("lancedb")
pytestmark = pytest.mark.engines

from excise.engines import Engine  # noqa: E402
from excise.engines.lancedb.lance_options import LanceOptions  # noqa: E402
from excise.engines.lancedb.lance_store import LanceStore  # noqa: E402
from excise.engines.shared.generations import GenerationalEngine  # noqa: E402

_NUMBERS = count()


class LanceContract(EngineContract):
    mode = "exact"

    @pytest.fixture
    def make(self, tmp_path: Path) -> Maker:
        def made() -> Engine:
            options = LanceOptions(str(tmp_path / "lance"), f"made-{next(_NUMBERS)}", self.mode)  # type: ignore[arg-type]
            return GenerationalEngine.create(LanceStore(options), ENCODER)

        return made

    def opened_again(self, engine: Engine) -> Engine:
        assert isinstance(engine, GenerationalEngine)
        assert isinstance(engine.store, LanceStore)
        return GenerationalEngine.open(LanceStore(engine.store.options))


class TestLanceExact(LanceContract):
    pass


class TestLancePooled(LanceContract):
    mode = "pooled"

"""The local engine keeps the contract."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from contract import EngineContract, Maker
from made_up import ENCODER

from excise.engines import Engine, LocalEngine


class TestLocalEngineContract(EngineContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Maker:
        numbers = count()
        return lambda: LocalEngine.create(tmp_path / f"index{next(numbers)}", ENCODER)

    def opened_again(self, engine: Engine) -> Engine:
        return LocalEngine.open(engine.name)

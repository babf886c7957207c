"""An index of five made-up documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract import NAMES
from made_up import ENCODER, batch

from excise.engines import LocalEngine


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    made = LocalEngine.create(tmp_path / "index", ENCODER)
    made.add(*batch(NAMES))
    return made

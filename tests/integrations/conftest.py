"""What every drop-in is tried on: one operator without an index, and what a first stage found for a query."""

from __future__ import annotations

import os

import pytest
from cars import CARS

from excise.encoders.backbone import Backbone
from excise.search.operator import Excise, load

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # tests use no network


@pytest.fixture(scope="session")
def judge(minilm: Backbone) -> Excise:
    """What judges candidates; it has no index."""
    return load(backbone=minilm)


@pytest.fixture(scope="session")
def garage(minilm: Backbone) -> Excise:
    """The cars in an index."""
    operator = load(backbone=minilm)
    operator.index([{"id": car.id, "title": car.title, "text": car.text} for car in CARS])
    return operator

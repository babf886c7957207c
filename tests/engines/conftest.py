"""Puts this folder on the path: the contract and the made-up documents are shared by the tests of every engine."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("contract", "made_up")

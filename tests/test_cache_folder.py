"""The folder of what can be made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from excise.cache_folder import cache_folder


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXCISE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv("EXCISE_CACHE", "")
    assert cache_folder().is_absolute()
    assert cache_folder().name.lower() in ("excise", "cache")

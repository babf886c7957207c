"""The noise test: a constant that moves success is active, one that moves nothing is unexercised."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from excise.cli.app import app
from excise.cli.calibrate import calibrate
from excise.errors import InvalidInput
from excise.evaluation.experiments.calibration import GRIDS, plot, sweep
from excise.settings import PAPER_RULE, Settings


def test_verdicts() -> None:
    def by_lead(settings: Settings) -> tuple[bool, tuple[int, ...]]:
        return settings.coverage.lead >= 2, (int(settings.coverage.lead),)

    def by_floor(settings: Settings) -> tuple[bool, tuple[int, ...]]:
        return True, (int(settings.coverage.evidence_floor * 100),)

    found = {one.constant: one for one in sweep("made up", [by_lead, by_floor] * 20, Settings())}
    assert found["lead"].verdict == "active"
    assert found["lead"].spread == pytest.approx(0.5)
    assert found["evidence_floor"].verdict == "inert"
    assert found["match_fraction"].verdict == "unexercised"
    assert set(found) == set(GRIDS["coverage"])
    picture = plot(found.values())
    assert picture.startswith("<svg")
    assert picture.count("<circle") == len(found)


def test_the_papers_constants_are_swept_too() -> None:
    found = sweep("made up", [lambda settings: (settings.constants.removal_cap > 2, ())], PAPER_RULE)
    assert {one.constant for one in found} == set(GRIDS["paper"])
    assert next(one for one in found if one.constant == "removal_cap").success[1] == 0


def test_the_command_writes_a_table_and_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXCISE_CACHE", str(tmp_path / "cache"))
    run = CliRunner().invoke(
        app, ["calibrate", "own", "--limit", "8", "--oracle", "--out", str(tmp_path / "out"), "--json"]
    )
    assert run.exit_code == 0, run.output
    assert run.stdout.count('"verdict"') == len(GRIDS["coverage"])
    assert (tmp_path / "out" / "calibration.svg").read_text().startswith("<svg")


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(InvalidInput, match="unknown preset 'best'"):
        calibrate(["own"], preset="best", limit=2)

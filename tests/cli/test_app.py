"""The command line as a whole: how little it loads, its entry points, and bytes that are no text."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "sentence_transformers", "numpy", "sklearn", "jinja2", "matplotlib")
LOADED = """
import sys
from excise.cli import main
try:
    main()
finally:
    print(*(name for name in {names!r} if name in sys.modules), file=sys.stderr)
"""


def python(code: str, *arguments: str | bytes, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", code, *arguments], input=given, capture_output=True, check=False)


@pytest.mark.parametrize("asked", [["--help"], ["--version"], ["search", "--help"], ["xbench", "write", "--help"]])
def test_help_loads_nothing_heavy(asked: list[str]) -> None:
    done = python(LOADED.format(names=HEAVY), *asked)
    assert (done.returncode, done.stderr.split()) == (0, [])
    assert b"Usage:" in done.stdout or b"excise 0." in done.stdout


def test_a_version_needs_no_rich() -> None:
    done = python(LOADED.format(names=("rich", "pydantic", *HEAVY)), "--version")
    assert (done.returncode, done.stderr.split()) == (0, [])
    assert done.stdout.startswith(b"excise 0.")


def test_the_probe_of_the_tests_above_sees_what_is_loaded() -> None:
    done = python("import numpy\n" + LOADED.format(names=HEAVY), "--version")
    assert done.stderr.split() == [b"numpy"]


@pytest.mark.parametrize(
    "code",
    [
        "from excise.cli import main; main()",
        "from excise.cli.app import main; main()",
        "import runpy; runpy.run_module('excise', run_name='__main__')",
    ],
)
def test_entry_points(code: str) -> None:
    done = python(code, "--version")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"excise 0.")


def test_a_refusal_is_one_sentence_and_code_2() -> None:
    done = python("from excise.cli import main; main()", "search", "cars", "-i", "x", "-x", "Tesla", "--no-excise")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == "excise: --exclude and --no-excise contradict each other.\n"


def test_bytes_that_are_no_text_are_answered() -> None:
    """On the command line and on stdin alike."""
    code = "from excise.cli import main; main()"
    for done in (
        python(code, "detect", "--json", b"tea \xff, not coffee"),
        python(code, "detect", "--json", given=b"tea \xff, not coffee\n"),
    ):
        assert done.returncode == 0, done.stderr.decode()
        found = json.loads(done.stdout)
        assert found["query"] == "tea \N{REPLACEMENT CHARACTER}, not coffee"
        assert [found["query"][topic["start"] : topic["end"]] for topic in found["topics"]] == ["coffee"]


def test_a_path_that_is_no_text_is_refused_in_a_sentence() -> None:
    done = python("from excise.cli import main; main()", "index", b"nowhere-\xff.jsonl", "-i", "never-made")
    assert done.returncode == 2
    assert done.stderr.startswith(b"excise: nowhere-")
    assert done.stderr.endswith(b".jsonl: no such file or folder.\n")

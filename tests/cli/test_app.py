"""The command line as a whole: how little it loads, its entry points, and bytes that are no text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "transformers", "sentence_transformers", "numpy", "sklearn", "jinja2", "matplotlib")
LOADED = """
import sys
from pathlib import Path
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


def test_the_list_of_commands_checks_no_types() -> None:
    done = python(LOADED.format(names=("pydantic",)), "--help")
    assert (done.returncode, done.stderr.split()) == (0, [])


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


EXTRAS = ("bm25s", "ir_measures", "sklearn", "matplotlib", "jinja2", "datasketch", "openai")
WITHOUT = """
import sys
from pathlib import Path
sys.modules.update(dict.fromkeys({missing!r}))
from excise.cli import main
main()
"""


def test_the_core_needs_no_extra(tmp_path: Path) -> None:
    """Indexing and searching work where nothing but the core's dependencies is installed."""
    bare = WITHOUT.format(missing=EXTRAS)
    (tmp_path / "tea.jsonl").write_text('{"id": "a", "text": "Green tea."}\n{"id": "b", "text": "Coffee with milk."}\n')
    index = str(tmp_path / "index")
    assert python(bare, "index", str(tmp_path / "tea.jsonl"), "--index", index).returncode == 0
    done = python(bare, "search", "hot drinks, but not coffee", "--index", index, "--json", "-k", "1")
    assert done.returncode == 0, done.stderr.decode()
    assert [hit["id"] for hit in json.loads(done.stdout)["hits"]] == ["a"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["eval", "own", "--split", "dev", "--systems", "frozen", "--out", "x"], "the evaluation needs ir-measures"),
        (["report", "x", "--out", "x.html"], "the report needs"),
        (["diagnose", "own", "--split", "dev", "--out", "x"], "the diagnosis needs scikit-learn and matplotlib"),
        (["xbench", "gate", "x", "--out", "y"], "the suite of gates needs bm25s and jinja2"),
    ],
)
def test_a_missing_extra_is_named_in_a_sentence(asked: list[str], sentence: str) -> None:
    missing = EXTRAS if "eval" not in asked else ("ir_measures",)
    done = python(WITHOUT.format(missing=missing), *asked)
    assert (done.returncode, done.stdout) == (2, b"")
    assert sentence in done.stderr.decode()
    extra = "xbench" if "xbench" in asked else "eval"
    assert f"pip install 'excise[{extra}]'" in done.stderr.decode()

"""``excise rerank`` and ``excise mcp`` as a user meets them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from excise.cli import app as cli
from excise.cli import attach
from excise.cli.app import app
from excise.errors import InvalidInput

runner = CliRunner()
EXAMPLE = Path(__file__).parents[2] / "examples" / "rerank.jsonl"
CARS: list[dict[str, Any]] = json.loads(EXAMPLE.read_text(encoding="utf-8").splitlines()[0])["candidates"]
CARS[0] |= {"id": 7, "url": "https://example.org/y"}  # ids may be numbers; what else a candidate has comes out again


def rerank(*lines: object, options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    given = "".join(json.dumps(line) + "\n" for line in lines)
    done = runner.invoke(app, ["rerank", *options], input=given)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def by_status(answer: dict[str, Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for one in answer["candidates"]:
        found.setdefault(one["status"], []).append(one["id"])
    return found


def test_the_same_lines_come_out_with_statuses() -> None:
    line = {"qid": "q1", "query": "electric cars, but not Tesla", "candidates": CARS}
    [answer] = rerank(line)
    assert list(answer) == ["qid", "query", "fired", "score", "topics", "candidates"]
    assert (answer["qid"], answer["query"], answer["fired"]) == ("q1", line["query"], True)
    assert [topic["text"] for topic in answer["topics"]] == ["Tesla"]
    assert by_status(answer)["kept"] == ["leaf", "zoe", "dolphin", "ami"]
    assert set(by_status(answer)["removed"]) == {7, "three"}
    assert [one["rank"] for one in answer["candidates"]] == [1, 2, 3, 4, None, None]
    by_id = {one["id"]: one for one in CARS}
    for one in answer["candidates"]:
        assert one.items() >= by_id[one["id"]].items()
        assert {"rank", "status", "evidence", "frozen_rank"} <= set(one)


def test_the_cautious_rule_tells_probability_and_passage() -> None:
    line = {"query": "electric cars, but not Tesla", "candidates": CARS}
    [answer] = rerank(line, options=("--preset", "cautious"))
    gone = [one for one in answer["candidates"] if one["status"] == "removed"]
    assert gone
    assert all(0 < one["probability"] <= 1 and "Tesla" in one["passage"] for one in gone)
    [careful] = rerank(line, options=("--caution", "1"))
    assert "removed" not in by_status(careful)


def test_without_an_exclusion_candidates_come_back_as_they_came() -> None:
    shuffled = [CARS[2], CARS[0], CARS[4]]
    bare = [{"id": one["id"], "text": one["text"]} for one in shuffled]
    for given in (shuffled, bare, []):
        [answer] = rerank({"query": "electric cars", "candidates": given})
        assert answer["fired"] is False
        expected = [{**one, "rank": rank, "status": "kept"} for rank, one in enumerate(given, 1)]
        assert answer["candidates"] == expected


def test_topics_by_option_and_by_line() -> None:
    plain = {"query": "electric cars", "candidates": CARS}
    lines = (plain, {**plain, "exclude": []}, {**plain, "exclude": "Renault"}, {**plain, "exclude": None})
    named, nothing, own, null = rerank(*lines, options=("--exclude", "Tesla", "-k", "3"))
    assert [topic["text"] for topic in named["topics"]] == ["Tesla"]
    assert named["candidates"] == null["candidates"]
    assert [one["id"] for one in nothing["candidates"]] == [7, "leaf", "zoe"]
    assert [topic["text"] for topic in own["topics"]] == ["Renault"]
    assert [one["rank"] for one in named["candidates"]] == [1, 2, 3, None, None]


def test_without_scores_maxsim_ranks() -> None:
    bare = [{"id": one["id"], "text": one["text"]} for one in CARS]
    [answer] = rerank({"query": "electric cars, but not Tesla", "candidates": bare})
    scores = [one["score"] for one in answer["candidates"] if one["rank"]]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)


def process(*arguments: str, given: bytes = b"", missing: tuple[str, ...] = ()) -> subprocess.CompletedProcess[bytes]:
    code = f"import sys; sys.modules.update(dict.fromkeys({missing!r})); from excise.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], input=given, capture_output=True, check=False)


def test_from_a_shell_lines_are_answered_up_to_the_first_bad_one(tmp_path: Path) -> None:
    good = json.dumps({"query": "electric cars, but not Tesla", "candidates": CARS})
    path = tmp_path / "lines.jsonl"
    path.write_text(f"{good}\n\n{{oops\n{good}\n")
    done = process("rerank", str(path))
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr.decode().startswith(f"excise: {path}, line 3: not valid JSON")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"[]", "stdin, line 1: must be a JSON object, got list."),
        (b"\xff\xfe", "stdin, line 1: not UTF-8 text"),
        (b"{}", "stdin, line 1: there is no 'query'"),
        (b'{"query": "cars"}', "stdin, line 1: there is no 'candidates'"),
        (b'{"query": "cars", "candidates": {}}', "line 1: 'candidates' must be a list of objects, got dict."),
        (b'{"query": "cars", "candidates": [7]}', "line 1: a document must be an object"),
        (b'{"query": "cars", "candidates": [{"id": "a"}]}', "line 1: document 'a' has no 'text'."),
        (b'{"query": "", "candidates": []}', "line 1: the query is empty."),
        (b'{"query": ["cars"], "candidates": []}', "line 1: a query must be a text, got list."),
        (b'{"query": "cars", "candidates": [], "exclude": 7}', "line 1: exclude must be a text or a list of texts"),
        (b'{"query": "cars", "candidates": [], "exclude": [""]}', "line 1: an excluded topic must be"),
        (b'{"query": "c", "candidates": [{"id": "a", "text": "x", "score": NaN}]}', "score must be finite"),
        (
            json.dumps({"query": "c", "candidates": [{"id": i, "text": "x"} for i in range(1_001)]}).encode(),
            "line 1: 1,001 candidates were given; at most 1,000 are taken.",
        ),
    ],
)
def test_what_a_bad_line_gets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: bytes, sentence: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line)))
    said = refused(capsys, monkeypatch, "rerank")
    assert sentence in said
    assert len(said.splitlines()) == 1


def test_a_line_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("excise.suites.jsonlines.LINE_LIMIT", 100)
    endless = io.BytesIO(b'{"query": "' + b"x" * 1_000)
    with pytest.raises(InvalidInput, match="stdin, line 1: the line has more than 100 bytes"):
        next(attach._requests(endless, "stdin"))
    assert endless.tell() == 101


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rerank", "nowhere.jsonl"], "nowhere.jsonl: no such file."),
        (["rerank", "--preset", "best"], "unknown preset 'best'"),
        (["rerank", "--caution", "7"], "caution must be a number from 0 to 1"),
        (["rerank", "--backbone", "nonsense"], "unknown backbone 'nonsense'"),
    ],
)
def test_what_bad_options_get(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    assert sentence in refused(capsys, monkeypatch, *arguments)


def test_mcp_needs_its_extra_and_an_index() -> None:
    done = process("mcp", "--index", "nowhere", missing=("mcp",))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == "excise: the MCP server needs mcp: pip install 'excise[mcp]'.\n"


@pytest.mark.parametrize(
    ("module", "missing", "package"),
    [
        ("langchain", "langchain_core", "langchain-core"),
        ("llamaindex", "llama_index", "llama-index-core"),
        ("haystack", "haystack", "haystack-ai"),
    ],
)
def test_a_drop_in_without_its_library_names_the_extra(module: str, missing: str, package: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; import excise.integrations.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"drop-in needs {package}: pip install 'excise[{module}]'." in done.stderr


def refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """What is said on stderr when the command is refused with exit code 2."""
    monkeypatch.setattr(sys, "argv", ["excise", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    captured = capsys.readouterr()
    assert (stop.value.code, captured.out) == (2, "")
    return captured.err

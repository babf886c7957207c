"""The report: what its tables say, what it leaves out, and that nothing in the data can act inside the page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from run_folders import SYSTEMS, write_pairs, write_suite
from typer.testing import CliRunner

from excise.cli.app import app
from excise.errors import InvalidInput
from excise.evaluation.report.browser import embed
from excise.evaluation.report.plot import tradeoff
from excise.evaluation.report.report_page import render_report
from excise.evaluation.report.runs import Difference, read_runs
from excise.evaluation.report.tables import Cell, Column, Table, ladders, overview
from excise.evaluation.report.templates import part, render

ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def exclusion(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "exclusion")


@pytest.fixture
def ordinary(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "ordinary", "plain", negatives=False)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs")


def rewrite(folder: Path, **changes: object) -> None:
    path = folder / "metrics.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def shown(table: Table) -> str:
    return render("table.html.j2", table=table)


class Tags(HTMLParser):
    """The elements of a page, and whatever would reach outside it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.count: dict[str, int] = {}
        self.outside: list[str] = []
        self.handlers: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.outside += [f"{name}={value}" for name, value in attrs if name == "src" or "//" in (value or "")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def data_of(page: str) -> list[dict[str, object]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


def test_a_page_has_every_part_and_needs_nothing_else(exclusion: Path, ordinary: Path, pairs: Path) -> None:
    page = render_report([exclusion, ordinary, pairs])
    tags = Tags(page)
    assert tags.outside == []
    assert tags.count["script"] == 2
    assert tags.count["svg"] == 1
    for text in ("Systems by collection", "The ladder", "cars dev", "plain dev", "boolean", "By tier", "leak@10"):
        assert text in page
    assert [run["label"] for run in data_of(page)] == ["cars dev", "plain dev"]


def test_nothing_from_the_data_becomes_markup(tmp_path: Path) -> None:
    systems = ("frozen", f"excise{ATTACK}")
    folder = write_suite(tmp_path / "run", f"cars{ATTACK}", systems, title=ATTACK)
    rewrite(folder, config={"baseline": "frozen", "note": ATTACK})
    lines = [json.loads(line) for line in (folder / "per_query.jsonl").read_text().splitlines()]
    for line in lines:
        line["text"], line["metadata"]["tier"] = ATTACK, ATTACK
    (folder / "per_query.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rewrite(folder, tiers={ATTACK: json.loads((folder / "metrics.json").read_text())["systems"]})
    page = render_report([folder, write_suite(tmp_path / "plain", ATTACK, systems, negatives=False)])
    tags = Tags(page)
    assert (tags.count["script"], tags.count.get("img", 0), tags.handlers, tags.outside) == (2, 0, [], [])
    run = data_of(page)[0]
    assert run["documents"][0][1] == ATTACK  # type: ignore[index]
    assert run["queries"][0]["text"] == ATTACK  # type: ignore[index]


def test_the_script_writes_no_markup() -> None:
    script = part("page.js")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(|XMLHttp", script)


def test_the_best_is_bold_whichever_way_is_better_and_marks_need_significance() -> None:
    sure, unsure = Difference(-0.3, -0.4, -0.2, 0.001), Difference(-0.3, -0.7, 0.1, 0.2)
    leak = Column("leak", "leak@10", [Cell(0.9), Cell(0.6, against=sure), Cell(0.6, against=unsure), Cell(None)])
    fired = Column("fired", "fire_rate", [Cell(0.0), Cell(1.0, against=sure), Cell(0.5), Cell(0.2)])
    page = shown(Table(["a", "b", "c", "d"], [leak, fired], frozenset({"a"})))
    assert page.count('<b class="best">0.600</b>') == page.count('class="best"') == 2
    assert page.count("▲") == 1
    assert "▼" not in page
    hit = Column("hit", "hit@10", [Cell(0.9), Cell(0.6, against=sure)])
    assert shown(Table(["a", "b"], [hit], frozenset())).count("▼") == 1


def test_systems_missing_from_a_collection_have_no_mean(tmp_path: Path) -> None:
    runs = read_runs([write_suite(tmp_path / "a", "a"), write_suite(tmp_path / "b", "b", SYSTEMS[:2])])
    page = shown(overview(runs))
    rows = {name: row for row in page.split("<tr") for name in SYSTEMS if f">{name}</th>" in row}
    assert rows["excise"].count('class="none"') == 2
    assert 'class="none"' not in rows["demote:oracle"]


def test_the_ladder_is_by_the_source_of_topics_and_needs_two_rungs(exclusion: Path, tmp_path: Path) -> None:
    (ladder,) = ladders(read_runs([exclusion]))
    assert ladder.source == "oracle"
    order = re.findall(r'<th scope="row">([^<]*)', shown(ladder.table))
    assert order == ["frozen", "demote:oracle", "soft:oracle", "cut:oracle", "excise:oracle"]
    assert ladders(read_runs([write_suite(tmp_path / "short", systems=("frozen", "excise"))])) == []


def test_the_plot_is_left_out_with_a_sentence(exclusion: Path, ordinary: Path, tmp_path: Path) -> None:
    assert "no run among these measures ordinary retrieval" in tradeoff(read_runs([exclusion])).left_out
    assert "no run among these measures exclusions" in tradeoff(read_runs([ordinary])).left_out
    other = write_suite(tmp_path / "other", "plain", ("bm25", "dense"), negatives=False)
    assert "no system was run on both kinds" in tradeoff(read_runs([exclusion, other])).left_out


def test_systems_not_run_everywhere_are_hollow(exclusion: Path, ordinary: Path, tmp_path: Path) -> None:
    assert all(dot.whole for dot in tradeoff(read_runs([exclusion, ordinary])).dots)
    part = write_suite(tmp_path / "part", "part", SYSTEMS[:2])
    folders = [exclusion, part, ordinary]
    assert "Hollow: not run on every one" in tradeoff(read_runs(folders)).caption
    assert render_report(folders).count(' hollow">') == len(SYSTEMS) - 2


def test_values_that_are_missing_are_dashes(exclusion: Path) -> None:
    rewrite(exclusion, intervals=None, significance={"excise": {"leak@10": None}}, tiers={}, config=None)
    content = json.loads((exclusion / "metrics.json").read_text())
    content["systems"]["excise"] = {"success@10": None, "hit@10": float("nan")}
    (exclusion / "metrics.json").write_text(json.dumps(content))
    (exclusion / "per_query.jsonl").unlink()
    page = render_report([exclusion])
    assert 'class="none"' in page
    assert data_of(page) == []


def test_many_queries_are_embedded_compactly_and_cut_with_a_sentence(tmp_path: Path) -> None:
    runs = read_runs([write_suite(tmp_path / "large", queries=60)])
    whole = embed(runs)
    assert whole.notes == ()
    assert len(whole.data) < (tmp_path / "large" / "per_query.jsonl").stat().st_size / 4
    cut = embed(runs, limit=len(whole.data) // 3)
    (run,) = json.loads(cut.data)
    assert 10 <= len(run["queries"]) < 30
    assert run["queries"][0]["id"] == "q0"
    assert f"{len(run['queries'])} of its 60 queries are here" in cut.notes[0]


def test_runs_of_the_same_split_are_told_apart_by_their_folders(exclusion: Path, tmp_path: Path) -> None:
    again = write_suite(tmp_path / "again")
    assert [run.label for run in read_runs([exclusion, again, again])] == ["cars dev (exclusion)", "cars dev (again)"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "not valid JSON"),
        ("[]", "must be a JSON object, got list"),
        ("{}", "has no 'systems'"),
        ('{"systems": {"frozen": [1]}}', "is not as 'excise eval' writes it"),
        ('{"systems": {"frozen": {"hit@10": "high"}}}', "is not as 'excise eval' writes it"),
    ],
)
def test_bad_metrics_get_a_sentence(content: str, sentence: str, exclusion: Path) -> None:
    (exclusion / "metrics.json").write_text(content)
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        render_report([exclusion])


def test_bad_lines_get_a_sentence_that_names_them(exclusion: Path) -> None:
    path = exclusion / "per_query.jsonl"
    path.write_text(path.read_text() + "{\n")
    with pytest.raises(InvalidInput, match="line 73: not valid JSON"):
        render_report([exclusion])
    path.write_text('{"id": "q1", "system": "frozen"}\n')
    with pytest.raises(InvalidInput, match="query 'q1': not as 'excise eval' writes it"):
        render_report([exclusion])


def test_the_command_writes_the_page(exclusion: Path, pairs: Path, tmp_path: Path) -> None:
    page = tmp_path / "deep" / "report.html"
    done = CliRunner().invoke(app, ["report", str(exclusion), str(pairs), "--out", str(page)])
    assert done.exit_code == 0
    assert "wrote" in done.output
    assert page.read_text().startswith("<!doctype html>")
    refused = CliRunner().invoke(app, ["report", str(exclusion), "--out", str(tmp_path)])
    assert isinstance(refused.exception, InvalidInput)
    assert "cannot be written: Is a directory." in str(refused.exception)

"""A study: what it reads, that a killed one goes on where it stopped, and what its report says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from excise.errors import InvalidInput
from excise.evaluation.experiments import study_run
from excise.evaluation.experiments.run_folder import RunError
from excise.evaluation.experiments.study_config import StudyConfig, read_study
from excise.evaluation.experiments.study_run import StudyFolder, StudyProgress, estimate, run_study
from excise.evaluation.experiments.suite_run import evaluate
from excise.evaluation.report.study_page import write_report
from excise.evaluation.systems.spec import parse_systems

EXAMPLES = Path(__file__).parents[3] / "examples"
SYSTEMS = ["frozen", "bm25-not", "maxsim-minus:oracle", "excise", "full"]


@pytest.fixture(scope="module")
def study_file(small_suite: Path, demo_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite that excludes, one that does not, pairs, graded labels; two tables."""
    folder = tmp_path_factory.mktemp("study")
    plain = folder / "plain"
    (plain / "qrels").mkdir(parents=True)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/dev.tsv"):
        (plain / name).write_bytes((small_suite / name).read_bytes())
    pair = {"_id": "p1", "text": "electric cars, not Tesla", "positive": "A Nissan Leaf.", "negative": "A Tesla."}
    (folder / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    first = json.loads((small_suite / "corpus.jsonl").read_text().splitlines()[0])
    label = {"id": "l1", "corpus": "small", "query": f"{first['title']}, not dogs", "wanted": "x", "topic": "dogs"}
    label |= {"kind": "present", "document": first["_id"], "grade": 2}
    (folder / "labels.jsonl").write_text(json.dumps(label) + "\n")
    path = folder / "study.toml"
    path.write_text(f"""
title = "A study"
[[suites]]
name = "small"
path = "{small_suite}"
split = "dev"
limit = 4
index = {{ minilm = "{demo_index}" }}
[[suites]]
name = "plain"
path = "{plain}"
split = "dev"
limit = 3
index = {{ minilm = "{demo_index}" }}
[[pairs]]
name = "NOT"
path = "{folder / "pairs.jsonl"}"
[[labels]]
name = "graded"
files = ["{folder / "labels.jsonl"}"]
corpora = {{ small = "{small_suite / "corpus.jsonl"}" }}
indexes = {{ small = "{demo_index}" }}
[[tables]]
title = "Main"
systems = {json.dumps(SYSTEMS)}
[[tables]]
title = "Removals"
systems = ["excise"]
on = ["graded"]
""")
    return path


@pytest.fixture(scope="module")
def config(study_file: Path) -> StudyConfig:
    return read_study(study_file)


@pytest.fixture(scope="module")
def finished(config: StudyConfig, tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    return run_study(config, tmp_path_factory.mktemp("finished"))


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def killed(study_file: Path, out: Path) -> None:
    """Start the study as a user does, and kill it while it is at its third cell."""
    command = [sys.executable, "-m", "excise", "study", str(study_file), "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("[2/"):
                break
        process.send_signal(signal.SIGKILL)


def test_the_cells_are_every_table_once(config: StudyConfig) -> None:
    cells = [(cell.task.name, cell.system) for cell in config.cells]
    assert len(set(cells)) == len(cells) == 5 + 5 + 4 + 1
    assert ("NOT", "maxsim-minus:oracle") not in cells  # pairs have no record of topics
    assert cells[-1] == ("graded", "excise")


def test_a_killed_study_goes_on_with_what_is_missing(
    study_file: Path, config: StudyConfig, finished: StudyFolder, tmp_path: Path
) -> None:
    killed(study_file, tmp_path)
    folder = StudyFolder(tmp_path)
    before = {cell.label: files_of(folder.cell(cell)) for cell in config.cells if folder.done(cell)}
    assert 2 <= len(before) < len(config.cells)
    told: list[StudyProgress] = []
    run_study(config, tmp_path, told=told.append)
    assert [one.done for one in told] == list(range(1, len(config.cells) + 1))
    assert told[-1].left == 0
    for cell in config.cells:
        if cell.label in before:
            assert files_of(folder.cell(cell)) == before[cell.label]  # not touched again
        whole, again = (json.loads((one.cell(cell) / "metrics.json").read_text()) for one in (finished, folder))
        assert whole == again


def test_a_cell_finds_what_the_command_for_one_run_finds(
    config: StudyConfig, finished: StudyFolder, small_suite: Path, demo_index: Path, tmp_path: Path
) -> None:
    evaluate(small_suite, "dev", SYSTEMS, tmp_path, limit=4, index=demo_index)
    alone = [json.loads(line) for line in (tmp_path / "per_query.jsonl").read_text().splitlines()]
    for cell in [cell for cell in config.cells if cell.task.name == "small"]:
        lines = (finished.cell(cell) / "per_query.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == [one for one in alone if one["system"] == cell.system]


def test_a_cell_says_what_made_it(config: StudyConfig, finished: StudyFolder) -> None:
    cell = config.cells[0]
    made = json.loads((finished.cell(cell) / "config.json").read_text())
    assert {"code", "data", "weights", "task", "versions", "fingerprints", "limit"} <= made.keys()
    assert {"corpus", "queries", "backbone", "coverage"} <= made["fingerprints"].keys()
    cost = next(finished.cost(cell) for cell in config.cells if cell.system == "full")
    assert cost["queries"] == 4
    assert cost["fired_ms"]
    assert cost["warm_ms"]
    assert estimate(finished, config.cells) == 0
    assert estimate(StudyFolder(Path("nowhere")), config.cells) is None


def test_cells_of_other_code_are_refused_or_made_again(
    config: StudyConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    table = replace(config.tables[0], systems=("frozen", "excise"), on=("small",))
    small = replace(config, tables=(table,))
    folder = run_study(small, tmp_path)
    before = (folder.cell(small.cells[0]) / "metrics.json").read_bytes()
    monkeypatch.setattr(study_run, "code_digest", lambda: "of tomorrow")
    with pytest.raises(RunError, match="was made with another code"):
        run_study(small, tmp_path)
    assert (folder.cell(small.cells[0]) / "metrics.json").read_bytes() == before
    run_study(small, tmp_path, overwrite=True)
    assert json.loads((folder.cell(small.cells[0]) / "config.json").read_text())["code"] == "of tomorrow"


def test_the_report_has_every_part(config: StudyConfig, finished: StudyFolder) -> None:
    markdown, page = (path.read_text(encoding="utf-8") for path in write_report(config, finished))
    for title in ("Main: minilm", "No harm: minilm", "Pairs: minilm", "First-stage recall", "Query-time cost",
                  "Overhead", "small, every metric", "small by tier", "Are the removals right? graded"):  # fmt: skip
        assert f"## {title}" in markdown
        assert title in page
    means = json.loads((finished.cell(config.cells[3]) / "metrics.json").read_text())["systems"]["excise"]
    (row,) = [line for line in markdown.split("## ")[1].splitlines() if line.startswith("| `excise` |")]
    assert row.startswith(f"| `excise` | {means['success@10']:.3f} |")
    assert "<svg" in page  # one suite excludes and one does not, so that there is a trade-off
    assert "The code that decides rankings" in markdown
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")


def test_a_cell_that_fails_leaves_the_others(config: StudyConfig, tmp_path: Path) -> None:
    from dataclasses import replace

    broken = "llm-judge=tiny;url=ftp://nowhere"
    table = replace(config.tables[0], systems=("frozen", broken, "excise"), on=("small",))
    small = replace(config, tables=(table,))
    folder = run_study(small, tmp_path)
    assert [folder.done(cell) for cell in small.cells] == [True, False, True]
    assert list(folder.failures()) == [f"small, minilm, {broken}"]
    markdown, _ = write_report(small, folder)
    assert "Not run: small, minilm, llm-judge=tiny" in markdown.read_text()


def test_the_tiny_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXCISE_CACHE", str(tmp_path / "cache"))
    config = read_study(EXAMPLES / "tiny_study.toml")
    folder = run_study(config, tmp_path / "out")
    assert all(folder.done(cell) for cell in config.cells)


@pytest.mark.parametrize("example", ["study.toml", "study_core.toml"])
def test_the_systems_of_an_example_are_known_and_its_tables_name_its_suites(example: str) -> None:
    content = tomllib.loads((EXAMPLES / example).read_text())
    tasks = {task["name"] for kind in ("suites", "pairs", "labels") for task in content[kind]}
    for table in content["tables"]:
        assert parse_systems(table["systems"])
        assert set(table.get("on", tasks)) <= tasks


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[suites", "is not TOML"),
        ("nonsense = 1", "there is no 'nonsense' in a study; there are title, suites"),
        ("[[suites]]\nname = 'own'\npath = 'own'", r"\[\[suites\]\] number 1 lacks 'split'"),
        ("[[suites]]\nname = 'a'\npath = 'own'\nsplit = 'dev'\nlimit = 'x'", "limit cannot be 'x'"),
        ("[[suites]]\nname = 'a'\npath = 'own'\nsplit = 'dev'\nodd = 1", "unknown 'odd'; it may have name, path"),
        ("[[suites]]\nname = 'a'\npath = 'own'\nsplit = 'dev'", r"needs at least one suite and one of \[\[tables\]\]"),
    ],
)
def test_what_is_wrong_with_a_study_is_said(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(InvalidInput, match=sentence):
        read_study(tmp_path / "study.toml")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("systems = ['nonsense']", "there is no system 'nonsense'"),
        ("systems = ['frozen']\non = ['b']", "is on 'b', which is no suite"),
        ("systems = ['frozen']\nbackbones = ['b']", "names an unknown backbone 'b'"),
        ("systems = ['dense=./no-such-folder']", "needs the folder no-such-folder, which is not there"),
        ("systems = ['query-only=no/folder']", "needs the folder no.folder, which is not there"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(table: str, sentence: str, tmp_path: Path) -> None:
    suite = "[[suites]]\nname = 'a'\npath = 'own'\nsplit = 'dev'\n"
    (tmp_path / "study.toml").write_text(f"{suite}[[tables]]\ntitle = 'Main'\n{table}\n")
    with pytest.raises(InvalidInput, match=sentence):
        read_study(tmp_path / "study.toml")

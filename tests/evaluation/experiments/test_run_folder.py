"""The folder of a run: what was added stays, whatever happens to the process that added it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from killed_run import CONFIG, DEPTH, SYSTEMS, MadeUp

from excise.evaluation.experiments.run_folder import RunError, RunFolder

SCRIPT = Path(__file__).parent / "killed_run.py"
RANKING = [(f"d{rank}", 1.0 / rank) for rank in range(1, DEPTH + 1)]


def write(folder: Path, *queries: str) -> RunFolder:
    run = RunFolder(folder, CONFIG)
    for query in queries:
        run.add([MadeUp(system, query) for system in SYSTEMS], dict.fromkeys(SYSTEMS, RANKING))
    return run


def check_whole(folder: Path, acknowledged: set[str]) -> None:
    """Every acknowledged query has its lines and its rows, and nothing else has any."""
    run = RunFolder(folder, CONFIG)
    finished = {id for _, id in run.finished}
    assert acknowledged <= finished
    lines = (folder / "per_query.jsonl").read_bytes().split(b"\n")[:-1]
    assert (
        len(lines) == len(run.finished) == len({json.loads(line)["system"] + json.loads(line)["id"] for line in lines})
    )
    for system, name in zip(SYSTEMS, ("run.frozen.trec", "run.excise_oracle.trec"), strict=True):
        rows = [row.split(" ") for row in (folder / name).read_text().splitlines()]
        own = {id for one, id in run.finished if one == system}
        assert sorted((row[0], int(row[3])) for row in rows) == sorted(
            (id, rank) for id in own for rank in range(1, DEPTH + 1)
        )
    assert json.loads((folder / "config.json").read_text()) == CONFIG


def killed(folder: Path, first: int, draw: random.Random) -> list[str]:
    """The queries that a run acknowledged before it was killed at a random moment."""
    command = [sys.executable, str(SCRIPT), str(folder), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline()]  # it is under way
        time.sleep(draw.uniform(0.0, 0.15))
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    return [line.strip() for line in said if line.endswith("\n")]


def test_what_was_acknowledged_outlives_kill_9(tmp_path: Path) -> None:
    draw, acknowledged = random.Random(), set[str]()
    for round_ in range(8):
        queries = killed(tmp_path, 10_000 * round_, draw)
        assert queries
        acknowledged |= set(queries)
        check_whole(tmp_path, acknowledged)


def test_half_done_work_is_dropped_and_the_rest_untouched(tmp_path: Path) -> None:
    write(tmp_path, "q1", "q12")
    whole = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with (tmp_path / "run.frozen.trec").open("ab") as run:  # rows of a query without a line; the last one is torn
        run.write(b"q2 Q0 d1 1 1.000000 frozen\nq1")
    with (tmp_path / "per_query.jsonl").open("ab") as lines:
        lines.write(b'{"system": "frozen", "id": "q2", "te')
    RunFolder(tmp_path, CONFIG)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == whole


def test_a_line_that_is_no_outcome_is_dropped(tmp_path: Path) -> None:
    write(tmp_path, "q1")
    with (tmp_path / "per_query.jsonl").open("ab") as lines:
        lines.write(b'[1]\n{"system": "frozen"}\n\xff\n')
    write(tmp_path, "q2")
    check_whole(tmp_path, {"q1", "q2"})


def test_signs_that_end_lines_elsewhere_do_not_tear_them(tmp_path: Path) -> None:
    assert "\u2028" in str(MadeUp("frozen", "q1").to_dict()["text"])
    write(tmp_path, "q1")
    before = (tmp_path / "per_query.jsonl").read_bytes()
    assert set(RunFolder(tmp_path, CONFIG).finished) == {(system, "q1") for system in SYSTEMS}
    assert (tmp_path / "per_query.jsonl").read_bytes() == before


def test_systems_whose_names_look_alike_in_a_file_name_have_a_run_each(tmp_path: Path) -> None:
    systems = ["query-only=/a:b", "query-only=/a,b"]
    run = RunFolder(tmp_path, {"systems": systems})
    run.add([MadeUp(system, "q") for system in systems], {systems[0]: RANKING[:1], systems[1]: RANKING[:2]})
    sizes = {path.name: len(path.read_text().splitlines()) for path in tmp_path.glob("run.*")}
    assert sizes == {"run.query-only=_a_b.trec": 1, "run.query-only=_a_b-2.trec": 2}


def test_a_folder_that_cannot_be_written_to_is_a_sentence(tmp_path: Path) -> None:
    run = write(tmp_path / "run", "q1")
    (tmp_path / "run" / "per_query.jsonl").unlink()
    (tmp_path / "run" / "per_query.jsonl").mkdir()
    with pytest.raises(RunError, match=r"could not write to .*Is a directory"):
        run.add([MadeUp("frozen", "q2")], {})

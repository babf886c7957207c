"""Stored answers, strict reading, and batch files."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from excise.xbench.answers import Answer, Answers, Desk, Malformed, Missing, json_object, text_of, truth_of
from excise.xbench.batch import read_answers, write_requests
from excise.xbench.prompts import NAMES, STYLES, prompt
from excise.xbench.requests import Model, Request, ask_for
from excise.xbench.storage import XBenchError
from excise.xbench.writing import query_question, read_excludes, read_rewrite, read_seed

MODEL = Model("m")


def question(query: str = "bread, not rye", model: Model = MODEL) -> Request:
    return query_question(model, query, "rye")


def test_a_request_is_known_by_everything_in_it() -> None:
    assert question().key == question().key
    others = [question("other"), question(model=Model("n")), question(model=Model("m", temperature=0.5))]
    assert len({request.key for request in [question(), *others]}) == 4


def test_an_answer_that_fits_is_read_and_one_that_is_missing_is_pending(tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    desk = Desk(answers)
    assert desk.ask(question(), read_excludes) is Missing.PENDING
    assert list(desk.pending) == [question().key]
    answers.add(question(), Answer('{"excludes": true}'))
    assert Desk(answers).ask(question(), read_excludes) is True
    assert Desk(Answers(tmp_path)).ask(question(), read_excludes) is True  # from the file


def test_a_malformed_answer_is_asked_once_more_then_given_up(tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    answers.add(question(), Answer('{"excludes": "yes"}'))
    desk = Desk(answers)
    assert desk.ask(question(), read_excludes) is Missing.PENDING
    (again,) = desk.pending.values()
    assert again.messages[2] == {"role": "assistant", "content": '{"excludes": "yes"}'}
    assert "excludes is neither true nor false" in again.messages[3]["content"]
    answers.add(again, Answer("no idea"))
    desk = Desk(answers)
    assert desk.ask(question(), read_excludes) is Missing.UNUSABLE
    assert desk.ask(question(), read_excludes) is Missing.UNUSABLE
    assert (desk.malformed["judge_query"], desk.unusable["judge_query"], desk.pending) == (2, 1, {})


def test_a_line_that_was_cut_off_is_asked_for_again_and_nothing_else_is_lost(tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    answers.add(question("a"), Answer('{"excludes": true}'))
    with (tmp_path / "judge_query.jsonl").open("a") as out:
        out.write('{"key": "half')
    answers = Answers(tmp_path)
    answers.add(question("b"), Answer('{"excludes": false}'))
    desk = Desk(Answers(tmp_path))
    assert desk.ask(question("a"), read_excludes) is True
    assert desk.ask(question("b"), read_excludes) is False


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"x": "a", "z": "b", "query": "bread not', "not one whole JSON object"),
        ("[1]", "not a JSON object"),
        ('{"X": "a", "z": "b", "query": "c d"}', "it has the keys X, query, z"),
        ('{"x": "a", "z": "b", "query": "c d", "why": "e"}', "it has the keys"),
        ('{"x": "a", "z": 3, "query": "bread not rye"}', "z is not a text"),
        ('{"x": "a", "z": " ", "query": "bread not rye"}', "z is not a text"),
        (json.dumps({"x": "a", "z": "word " * 13, "query": "bread not rye"}), "z has 13 words"),
        (json.dumps({"x": "a", "z": "b", "query": "word " * 46}), "query has 46 words"),
        ("[" * 100_000, "not one whole JSON object"),
    ],
)
def test_stage_a_answers_are_read_strictly(content: str, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        read_seed(content)


def test_stage_b_answers_need_as_many_wordings_as_topics() -> None:
    content = json.dumps({"query": "bread, neither rye nor spelt", "z": ["rye", "spelt"]})
    assert read_rewrite(content, "t3_mixed", "short", ("rye", "spelt")).wordings == ("rye", "spelt")
    with pytest.raises(Malformed, match="z is not a list of 2 texts"):
        read_rewrite(content.replace(', "spelt"]', "]"), "t3_mixed", "short", ("rye", "spelt"))
    with pytest.raises(Malformed, match="query has 5 words, and 20 to 165"):
        read_rewrite(content, "t3_mixed", "long", ("rye", "spelt"))


def test_a_code_fence_is_taken_off() -> None:
    found = json_object('```json\n{"a": "b c", "d": true}\n```', ("a", "d"))
    assert (text_of(found, "a", 2), truth_of(found, "d")) == ("b c", True)


def test_batch_lines_are_in_the_format_of_the_service(tmp_path: Path) -> None:
    requests = [question(str(number)) for number in range(5)]
    paths = write_requests(tmp_path / "requests.jsonl", requests, most=2)
    assert [path.name for path in paths] == ["requests.jsonl", "requests-2.jsonl", "requests-3.jsonl"]
    line = json.loads(paths[0].read_text().splitlines()[0])
    assert list(line) == ["custom_id", "method", "url", "body"]
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    assert line["body"]["response_format"] == {"type": "json_object"}
    assert [message["role"] for message in line["body"]["messages"]] == ["system", "user"]
    assert len({request.custom_id for request in requests}) == 5
    assert all(len(request.custom_id) <= 64 for request in requests)


def test_answers_of_a_service_or_by_hand_are_taken_and_the_rest_is_counted(tmp_path: Path) -> None:
    requests = {request.key: request for request in (question(name) for name in "abcd")}
    names = [request.custom_id for request in requests.values()]
    body = {"choices": [{"message": {"content": '{"excludes": true}'}}], "usage": {"prompt_tokens": 7}}
    lines = [
        json.dumps({"custom_id": names[0], "response": {"status_code": 200, "body": body}, "error": None}),
        json.dumps({"custom_id": names[1], "content": '{"excludes": false}'}),
        json.dumps({"custom_id": names[2], "response": {"status_code": 500, "body": {}}, "error": None}),
        json.dumps({"custom_id": names[3], "response": None, "error": {"code": "batch_expired"}}),
        json.dumps({"custom_id": "judge_query-0123456789abcdef01234567", "content": "{}"}),
        json.dumps({"custom_id": "../../etc/passwd-1", "content": "{}"}),
        '{"custom_id": "cut o',
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    file, answers = read_answers([tmp_path / "in.jsonl"]), Answers(tmp_path / "answers")
    assert file.give(requests, answers) == 2
    assert (file.taken, len(file.failed), file.unknown(answers), file.unreadable) == (2, 2, 2, 1)
    assert answers.tokens() == (7, 0)
    with pytest.raises(XBenchError, match="no such file"):
        read_answers([tmp_path / "nowhere.jsonl"])


def test_a_schema_fixes_the_keys_and_their_kinds() -> None:
    body = query_question(Model("m", json_mode="schema"), "bread, not rye", "rye").body
    form = body["response_format"]["json_schema"]
    assert (form["name"], form["strict"], form["schema"]["required"]) == ("judge_query", True, ["excludes"])
    assert form["schema"]["properties"] == {"excludes": {"type": "boolean"}}
    assert prompt("t3_mixed").schema()["properties"]["z"]["type"] == "array"
    assert "response_format" not in query_question(Model("m", json_mode="none"), "a", "b").body
    with pytest.raises(XBenchError, match="JSON mode is one of object, schema, none"):
        Model("m", json_mode="yes")


def test_every_prompt_has_a_version_asks_for_its_keys_and_forbids_what_it_must() -> None:
    for name in NAMES:
        found = prompt(name)
        assert found.version >= 1
        assert all(f'"{key}"' in found.user for key in found.keys)
    docs = Path(__file__).parents[2] / "docs" / "xbench.md"
    for name in NAMES:
        text = (files("excise.xbench.prompts") / f"{name}.md").read_text(encoding="utf-8").rstrip()
        assert f"```text\n{text}\n```" in docs.read_text(encoding="utf-8"), f"docs/xbench.md quotes another {name}.md"
    values = dict.fromkeys(("query", "wanted", "topic", "length_rule"), "x")
    implicit = ask_for("t2", MODEL, cues="not, without, -free", style=STYLES[0], **values)
    assert "not, without, -free" in implicit.messages[1]["content"]

"""Stored answers, strict reading, and batch files."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from excise.xbench.answers import Answer, Answers, Desk, Malformed, Missing, json_object, text_of, truth_of
from excise.xbench.batch import read_answers, write_requests
from excise.xbench.drafts import Hopeless, QueryTask, Seed, read_repair, read_rewrites, read_seed, tasks_of
from excise.xbench.prompts import NAMES, STYLES, prompt
from excise.xbench.readings import Asked, query_question, readings_reader
from excise.xbench.records import MinedPair
from excise.xbench.requests import Model, Request
from excise.xbench.storage import XBenchError

MODEL = Model("m")


def question(query: str = "bread, not rye", model: Model = MODEL) -> Request:
    return query_question(model, [Asked("T1", query, ("rye",))])


ONE = [Asked("T1", "", ("rye",))]
YES, NO = '{"verdicts": [["openly"]]}', '{"verdicts": [["no"]]}'


def read_excludes(content: str) -> bool:
    return readings_reader(ONE)(content) == [("openly",)]


def test_a_request_is_known_by_everything_in_it() -> None:
    assert question().key == question().key
    others = [question("other"), question(model=Model("n")), question(model=Model("m", temperature=0.5))]
    assert len({request.key for request in [question(), *others]}) == 4


def test_an_answer_that_fits_is_read_and_one_that_is_missing_is_pending(tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    desk = Desk(answers)
    assert desk.ask(question(), read_excludes) is Missing.PENDING
    assert list(desk.pending) == [question().key]
    answers.add(question(), Answer(YES))
    assert Desk(answers).ask(question(), read_excludes) is True
    assert Desk(Answers(tmp_path)).ask(question(), read_excludes) is True  # from the file


def test_a_malformed_answer_is_asked_once_more_then_given_up(tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    answers.add(question(), Answer('{"verdicts": [["yes"]]}'))
    desk = Desk(answers)
    assert desk.ask(question(), read_excludes) is Missing.PENDING
    (again,) = desk.pending.values()
    assert again.messages[2] == {"role": "assistant", "content": '{"verdicts": [["yes"]]}'}
    assert "has 'yes', which is none of the answers" in again.messages[3]["content"]
    answers.add(again, Answer("no idea"))
    desk = Desk(answers)
    assert desk.ask(question(), read_excludes) is Missing.UNUSABLE
    assert desk.ask(question(), read_excludes) is Missing.UNUSABLE
    assert (desk.malformed["judge_query"], desk.unusable["judge_query"], desk.pending) == (2, 1, {})


def test_a_line_that_was_cut_off_is_asked_for_again_and_nothing_else_is_lost(tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    answers.add(question("a"), Answer(YES))
    with (tmp_path / "judge_query.jsonl").open("a") as out:
        out.write('{"key": "half')
    answers = Answers(tmp_path)
    answers.add(question("b"), Answer(NO))
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


def test_a_pair_can_be_given_up_and_a_query_must_rule_its_topic_out() -> None:
    assert read_seed('{"hopeless": "both say the same"}') == Hopeless("both say the same")
    empty = {"x": "", "z": "", "second": "", "query": "", "hopeless": "no subject in common"}
    assert read_seed(json.dumps(empty)) == Hopeless("no subject in common")
    with pytest.raises(Malformed, match="letter for letter"):
        read_seed('{"x": "bread", "z": "rye flour", "query": "bread, not rye"}')
    with pytest.raises(Malformed, match="must have a cue"):
        read_seed('{"x": "bread", "z": "rye", "query": "bread, the rye kind is known to me"}')


def test_stage_b_answers_need_as_many_wordings_as_topics() -> None:
    task = QueryTask("T3", "mixed", "short", ("rye", "spelt"), "")
    one = {"query": "bread, neither rye nor spelt", "z": ["rye", "spelt"]}
    assert read_rewrites(json.dumps({"queries": [one]}), [task])[0].wordings == ("rye", "spelt")
    with pytest.raises(Malformed, match="z is not a list of 2 texts"):
        read_rewrites(json.dumps({"queries": [{**one, "z": ["rye"]}]}), [task])
    with pytest.raises(Malformed, match="queries is not a list of 1"):
        read_rewrites(json.dumps({"queries": [one, one]}), [task])
    with pytest.raises(Malformed, match="object with query and z"):
        read_rewrites(json.dumps({"queries": ["bread"]}), [task])
    explicit = QueryTask("T1", "explicit", "long", ("rye",), "")
    said = read_repair(json.dumps({"query": "bread, not rye", "z": ["dark bread"]}), explicit)
    assert said.wordings == ("rye",)  # an explicit query names its topic letter for letter


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
    body = {"choices": [{"message": {"content": YES}}], "usage": {"prompt_tokens": 7}}
    lines = [
        json.dumps({"custom_id": names[0], "response": {"status_code": 200, "body": body}, "error": None}),
        json.dumps({"custom_id": names[1], "content": NO}),
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
    number, read, written = answers.estimated_tokens()
    assert (number, written) == (1, len(NO) // 4)
    assert read > 100
    with pytest.raises(XBenchError, match="no such file"):
        read_answers([tmp_path / "nowhere.jsonl"])


def test_a_schema_fixes_the_keys_and_their_kinds() -> None:
    body = question(model=Model("m", json_mode="schema")).body
    form = body["response_format"]["json_schema"]
    assert (form["name"], form["strict"], form["schema"]["required"]) == ("judge_query", True, ["verdicts"])
    answer = form["schema"]["properties"]["verdicts"]["items"]["items"]
    assert answer == {"enum": ["openly", "implied", "no", "unsure"]}
    assert prompt("repair").schema()["properties"]["z"]["type"] == "array"
    assert "response_format" not in question(model=Model("m", json_mode="none")).body
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
    seed, pair = Seed("bread", "rye", "bread, not rye"), MinedPair("p1", "g", ("n",), (0.5,))
    (task,) = tasks_of(pair, seed, ["T2"], ["short"], 0.5, 0)
    for word in ("not, without", "-free", "no, never, instead"):
        assert word in task.words


def test_no_style_contradicts_the_length() -> None:
    for style in STYLES["long"]:
        assert "one plain" not in style
        assert "before the subject" not in style
        assert "lower case" not in style

"""Queries read together, the sample of explicit ones, and long documents in prompts."""

from __future__ import annotations

import json
from pathlib import Path

from excise.documents import Document
from excise.xbench.answers import Answer, Answers, Desk
from excise.xbench.readings import Asked, ask_readings
from excise.xbench.records import Record
from excise.xbench.requests import Model
from excise.xbench.verdicts import JudgingSettings, RecordVerdict, plan_judging

DOCUMENTS = {id: Document(id, f"A text that says something about {id} and more.") for id in ("g", "n")}


def explicit(number: int) -> Record:
    query = f"bread number {number}, not rye"
    return Record(f"p{number}", "p", "T1", "explicit", "short", query, "bread", ("rye",), ("rye",), "g", ("n",))


def answer_all(desk: Desk, reading: str) -> None:
    for request in desk.pending.values():
        text = request.messages[1]["content"]
        if request.stage == "judge_query":
            said = [[reading]] * text.count("topic 1:")
        else:
            said = [["about n " in one for one in text.split("</document>")[:2]]]
        desk.answers.add(request, Answer(json.dumps({"verdicts": said})))


def judged(tmp_path: Path, reading: str) -> tuple[list[RecordVerdict], int]:
    """The verdicts, and how many queries the judge was shown."""
    records, answers = [explicit(number) for number in range(20)], Answers(tmp_path)
    settings, shown = JudgingSettings(Model("j"), together=4), 0
    while True:
        desk = Desk(answers)
        verdicts = plan_judging(records, DOCUMENTS, desk, settings)
        if not desk.pending:
            return verdicts, shown
        asked = [one for one in desk.pending.values() if one.stage == "judge_query"]
        shown += sum(one.messages[1]["content"].count("topic 1:") for one in asked)
        answer_all(desk, reading)


def test_of_openly_worded_queries_a_fifth_is_read(tmp_path: Path) -> None:
    verdicts, shown = judged(tmp_path, "openly")
    assert shown == 4
    assert len(verdicts) == 20
    assert all(topic.excludes and topic.in_negative and topic.in_gold is False for v in verdicts for topic in v.topics)
    assert sorted(topic.by for verdict in verdicts for topic in verdict.topics) == ["cues"] * 16 + ["judge"] * 4


def test_a_judge_that_disagrees_with_the_cues_reads_them_all(tmp_path: Path) -> None:
    verdicts, shown = judged(tmp_path, "no")
    assert shown == 20
    assert all(topic.excludes is False and topic.by == "judge" for verdict in verdicts for topic in verdict.topics)


def test_what_is_read_together_is_of_one_kind_and_no_more_than_asked(tmp_path: Path) -> None:
    desk = Desk(Answers(tmp_path))
    queries = {n: Asked("T2" if n % 2 else "T3", f"query {n}", ("a",) if n % 2 else ("a", "b")) for n in range(7)}
    ask_readings(desk, Model("m"), queries, together=3)
    listed = [request.messages[1]["content"].count("query ") for request in desk.pending.values()]
    assert len(listed) == 3  # four compound ones in two requests, three implicit ones in one

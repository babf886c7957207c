"""The endpoint path against a real HTTP server that misbehaves."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, completion

from excise.errors import ExciseError
from excise.xbench.answers import Answers, Desk, Missing
from excise.xbench.conversation import Channel, converse
from excise.xbench.endpoint import Caller, Endpoint, EndpointError
from excise.xbench.readings import Asked, query_question, readings_reader
from excise.xbench.requests import Model, Request
from excise.xbench.storage import XBenchError

TRUE = '{"verdicts": [["openly"]]}'


def questions(number: int) -> list[Request]:
    return [query_question(Model("m"), [Asked("T1", f"query {i}", ("topic",))]) for i in range(number)]


read_excludes = readings_reader([Asked("T1", "", ("topic",))])


def endpoint(server: ChatServer, **settings: Any) -> Endpoint:
    return Endpoint(server.url, **{"backoff": 0.01, "timeout": 5.0, "concurrency": 1, "retries": 3, **settings})


def status(code: int, **headers: str) -> Any:
    return lambda body: (code, headers, '{"error": {"message": "told off"}}')


def slow(_body: dict[str, Any]) -> Any:
    time.sleep(2.0)
    return completion(TRUE)


def ask(server: ChatServer, tmp_path: Path, number: int = 1, **settings: Any) -> tuple[Caller, Answers]:
    caller, answers = Caller(endpoint(server, **settings)), Answers(tmp_path)
    caller.ask(questions(number), answers)
    return caller, answers


@pytest.mark.parametrize("trouble", [status(500), status(503), status(429), lambda _: (200, {}, '{"choices": [{"mess')])
def test_trouble_that_passes_is_retried(server: ChatServer, tmp_path: Path, trouble: Any) -> None:
    server.script = [trouble, trouble, lambda _: completion(TRUE)]
    caller, answers = ask(server, tmp_path)
    assert (len(server.seen), caller.usage.retries, caller.usage.answered) == (3, 2, 1)
    assert answers.get(questions(1)[0]).content == TRUE  # type: ignore[union-attr]


def test_the_server_says_how_long_to_wait(server: ChatServer, tmp_path: Path) -> None:
    server.script = [status(429, **{"Retry-After": "1"})]
    ask(server, tmp_path, backoff=0.0)
    assert server.times[1] - server.times[0] >= 1.0


def test_a_time_out_is_retried(server: ChatServer, tmp_path: Path) -> None:
    server.script = [slow]
    caller, _ = ask(server, tmp_path, timeout=1.0, retries=20)
    assert (caller.usage.answered, caller.usage.refused) == (1, 0)
    assert caller.usage.retries >= 1


def test_a_server_that_stays_silent_ends_the_run_and_what_was_answered_is_kept(
    server: ChatServer, tmp_path: Path
) -> None:
    server.script = [lambda _: completion(TRUE), *[status(500)] * 100]
    with pytest.raises(EndpointError, match=r"unanswered after 1 retries \(status 500\); what was answered is kept"):
        ask(server, tmp_path, number=10, retries=1)
    assert len(server.seen) <= 1 + 4 * 2  # three requests in a row were given up; of the rest, one may have begun
    server.script = []
    asked = len(server.seen)
    desk = Desk(Answers(tmp_path))
    for request in questions(10):
        desk.ask(request, read_excludes)
    Caller(endpoint(server)).ask(list(desk.pending.values()), Answers(tmp_path))
    assert len(server.seen) - asked == 9  # the answered one is not asked again


@pytest.mark.parametrize(("code", "words"), [(401, "set the environment variable"), (404, "no such model or address")])
def test_what_no_retry_helps_ends_the_run_at_once(server: ChatServer, tmp_path: Path, code: int, words: str) -> None:
    server.script = [status(code)] * 5
    with pytest.raises(EndpointError, match=words):
        ask(server, tmp_path)
    assert len(server.seen) == 1


def test_one_refused_request_counts_as_malformed_and_all_refused_end_the_run(
    server: ChatServer, tmp_path: Path
) -> None:
    server.script = [lambda _: completion(TRUE), status(400)]
    caller, answers = ask(server, tmp_path / "some", number=3)
    assert (caller.usage.answered, caller.usage.refused) == (2, 1)
    desk = Desk(answers)
    assert [desk.ask(request, read_excludes) for request in questions(3)].count(Missing.PENDING) == 1
    assert desk.malformed["judge_query"] == 1
    server.script = [status(400)] * 3
    with pytest.raises(EndpointError, match=r"refuses the requests: .*told off"):
        ask(server, tmp_path / "all", number=3)
    assert not list((tmp_path / "all").glob("*"))


def test_malformed_answers_are_asked_once_more_then_dropped(server: ChatServer, tmp_path: Path) -> None:
    cut, wrong = (lambda _: completion('{"excl')), (lambda _: completion('{"exclude": true}'))
    server.script = [cut, wrong, lambda _: completion(TRUE), cut, lambda _: completion(TRUE)]
    requests = questions(3)
    values, exchange = converse(
        lambda desk: [desk.ask(request, read_excludes) for request in requests],
        Answers(tmp_path),
        Channel(endpoint(server)),
    )
    # Asked in order: cut, wrong keys, right; then the second tries: cut again, right.
    assert values == [Missing.UNUSABLE, [("openly",)], [("openly",)]]
    assert (exchange.malformed, exchange.unusable) == ({"judge_query": 3}, {"judge_query": 1})
    assert len(server.seen) == 5


def test_requests_are_spaced_out_and_counted(server: ChatServer, tmp_path: Path) -> None:
    start = time.monotonic()
    caller, _ = ask(server, tmp_path, number=4, per_minute=600, concurrency=4, price_in=2.0, price_out=8.0)
    assert time.monotonic() - start >= 0.29  # a lower bound: the fourth has to wait for three tenths of a second
    assert (caller.usage.tokens_in, caller.usage.tokens_out) == (400, 40)
    assert caller.usage.cost == pytest.approx((400 * 2 + 40 * 8) / 1e6)
    assert "440 tokens, cost 0.0011" in caller.usage.summary()


def test_a_limit_on_the_cost_is_kept(server: ChatServer, tmp_path: Path) -> None:
    with pytest.raises(EndpointError, match="--max-cost is 1"):
        ask(server, tmp_path, number=30, price_in=5_000.0, max_cost=1.0)  # half a unit an answer
    assert len(server.seen) < 30


def test_the_key_comes_from_the_named_variable(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    ask(server, tmp_path, key_variable="MY_KEY")
    assert server.keys == ["Bearer secret"]
    assert "secret" not in "".join(path.read_text() for path in tmp_path.iterdir())


def test_without_the_extra_a_sentence_says_what_to_install(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ExciseError, match=r"pip install 'excise\[xbench\]'"):
        Caller(endpoint(server))


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"retries": -1}, {"timeout": -1.0}, {"price_in": -1.0}])
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(XBenchError):
        Endpoint("http://127.0.0.1/v1", **wrong)
    with pytest.raises(XBenchError, match="http address"):
        Endpoint("ftp://host")

"""Opinions on removals: labels that eval-coverage reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from served import Serve

from excise.errors import InvalidInput
from excise.service.feedback import FeedbackFile
from excise.service.web_app import ServicePlan
from excise.suites import bundled
from excise.suites.coverage_labels import CoverageLabels, load_labels

QUERY = "home bread baking, but not rye"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "feedback.jsonl"


@pytest.fixture
def http(serve: Serve, path: Path) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=serve(ServicePlan(feedback=FeedbackFile(path, "own")))) as client:
        yield client


def labels(path: Path) -> CoverageLabels:
    with bundled.corpus() as corpus:
        return load_labels([path], {"own": corpus})


def tell(http: httpx.Client, document: str, opinion: str, topic: str = "rye") -> httpx.Response:
    return http.post("/v1/feedback", json={"query": QUERY, "topic": topic, "document": document, "opinion": opinion})


def test_opinions_become_labels(http: httpx.Client, path: Path) -> None:
    assert http.get("/v1/about").json()["feedback"]
    assert tell(http, "home-bread-01", "put_back").json() == {"labels": 1}  # names rye
    assert tell(http, "home-bread-08", "put_back").json() == {"labels": 2}  # does not
    assert tell(http, "home-bread-03", "remove").json() == {"labels": 3}
    assert tell(http, "home-bread-03", "put_back", topic="Dutch ovens").json() == {"labels": 4}
    first, second = labels(path).searches
    assert (first.query, first.topic, first.kind) == (QUERY, "rye", "present")
    assert first.grades == {"home-bread-01": 1, "home-bread-08": 0, "home-bread-03": 2}
    assert (second.topic, dict(second.grades)) == ("Dutch ovens", {"home-bread-03": 0})


def test_a_second_opinion_replaces_the_first(http: httpx.Client, path: Path) -> None:
    tell(http, "home-bread-01", "put_back")
    tell(http, "home-bread-02", "remove")
    assert tell(http, "home-bread-01", "remove").json() == {"labels": 2}
    assert labels(path).searches[0].grades == {"home-bread-01": 2, "home-bread-02": 2}
    assert tell(http, "home-bread-01", "forget").json() == {"labels": 1}
    assert tell(http, "home-bread-04", "forget").json() == {"labels": 1}
    assert labels(path).searches[0].grades == {"home-bread-02": 2}


def test_a_file_is_continued(path: Path, serve: Serve) -> None:
    for document in ("home-bread-01", "home-bread-02"):
        with httpx.Client(base_url=serve(ServicePlan(feedback=FeedbackFile(path, "own")))) as http:
            tell(http, document, "remove").raise_for_status()
    assert len(labels(path).searches[0].grades) == 2


def test_nothing_is_kept_unless_it_is_asked_for(serve: Serve) -> None:
    with httpx.Client(base_url=serve(ServicePlan())) as http:
        assert not http.get("/v1/about").json()["feedback"]
        answer = tell(http, "home-bread-01", "put_back")
        assert (answer.status_code, answer.headers["content-type"]) == (403, "application/problem+json")


def test_what_is_no_opinion_is_refused(http: httpx.Client, path: Path) -> None:
    assert tell(http, "absent", "put_back").status_code == 404
    assert tell(http, "home-bread-01", "burn").status_code == 422
    assert tell(http, "home-bread-01", "remove", topic=" ").status_code == 422
    assert not path.exists()


def test_foreign_files_are_left_alone(path: Path, tmp_path: Path) -> None:
    path.write_text(json.dumps({"_id": "x", "text": "a corpus"}) + "\n")
    with pytest.raises(InvalidInput, match="line 1: this is no coverage label"):
        FeedbackFile(path, "own")
    with pytest.raises(InvalidInput, match="there is no folder"):
        FeedbackFile(tmp_path / "absent" / "feedback.jsonl", "own")

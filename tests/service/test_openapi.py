"""The OpenAPI document: it describes what is served, and what is served keeps to it (schemathesis)."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from served import KEY, KEYED, Serve

from excise.service.feedback import FeedbackFile

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,unsupported_method"
)


def test_it_describes_every_address_with_examples(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    assert set(document["paths"]) == {
        "/health", "/ready", "/metrics", "/v1/about", "/v1/search", "/v1/detect", "/v1/rerank", "/v1/feedback",
        "/v1/documents", "/v1/documents/{id}",
    }  # fmt: skip
    schemas = document["components"]["schemas"]
    for name in ("SearchRequest", "DetectRequest", "RerankRequest", "AddRequest", "ReplaceRequest", "FeedbackRequest"):
        assert schemas[name]["examples"]
    assert "HTTPValidationError" not in schemas
    for path in document["paths"].values():
        for operation in path.values():
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    assert list(answer["content"]) == ["application/problem+json"]


def test_its_examples_are_taken(keyed: httpx.Client) -> None:
    schemas = keyed.get("/openapi.json").json()["components"]["schemas"]
    for name, path in (("SearchRequest", "search"), ("DetectRequest", "detect"), ("RerankRequest", "rerank")):
        for example in schemas[name]["examples"]:
            assert keyed.post(f"/v1/{path}", json=example).status_code == 200
    [added] = schemas["AddRequest"]["examples"]
    assert keyed.post("/v1/documents", json=added).json()["added"] == 1


def test_no_script_of_others_is_pointed_to(http: httpx.Client) -> None:
    assert http.get("/docs").status_code == http.get("/redoc").status_code == 404


@pytest.mark.soak
def test_what_is_served_keeps_to_it(serve: Serve, tmp_path: Path) -> None:
    pytest.importorskip("schemathesis")
    plan = replace(KEYED, feedback=FeedbackFile(tmp_path / "labels.jsonl", "own"))
    examples = "200" if os.environ.get("EXCISE_SOAK") == "1" else "8"
    command = [Path(sys.executable).with_name("schemathesis"), "run", f"{serve(plan)}/openapi.json", "--no-color"]
    command += ["-H", f"Authorization: Bearer {KEY}", "--checks", CHECKS, "--max-examples", examples]
    run = subprocess.run(list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-4_000:] + run.stderr[-2_000:]

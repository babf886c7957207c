"""Every example is run as a reader would run it: those of an extra where the extra is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from excise.encoders.backbone import Backbone
from excise.search.operator import load

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
RECORDED = Path(__file__).parent / "recorded"
WITH_EXTRAS = {"langchain": "langchain_core", "llamaindex": "llama_index.core", "haystack": "haystack"}


def python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", WITH_EXTRAS)
def test_drop_ins(name: str) -> None:
    pytest.importorskip(WITH_EXTRAS[name])
    said = python(str(EXAMPLES / f"{name}_exclusion.py"))
    removed, found = said.split("found:" if "found:" in said else "documents:")
    assert removed.split("\n  ")[1:]
    assert all("Tesla" in line for line in removed.strip().split("\n  ")[1:])
    assert len(found.strip().split("\n  ")) == 4
    assert "Tesla" not in found
    plain = python(str(EXAMPLES / f"{name}_exclusion.py"), "Tesla electric cars")
    assert "Tesla" in plain.split("found:" if "found:" in plain else "documents:")[1]


def test_the_mcp_client(minilm: Backbone, tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    line = (EXAMPLES / "rerank.jsonl").read_text(encoding="utf-8").splitlines()[0]
    load(backbone=minilm).index(json.loads(line)["candidates"], tmp_path / "index")
    said = python(str(EXAMPLES / "mcp_client.py"), str(tmp_path / "index"))
    assert "tools: search, detect, explain\nexcluded: Tesla\n" in said
    removed, hits = said.split("removed:")[1].split("hits:")
    assert "Tesla Model Y" in removed
    assert "Tesla" not in hits


def test_pylate_results() -> None:
    plain, excluding = python(str(EXAMPLES / "pylate_exclusion.py")).splitlines()
    assert "'three'" in plain
    assert "'three'" not in excluding
    assert "{'id': 'leaf', 'score': 26.5}" in excluding


def test_an_elasticsearch_response() -> None:
    recorded = str(RECORDED / "elasticsearch_match.json")
    less = json.loads(python(str(EXAMPLES / "elasticsearch_exclusion.py"), recorded, "electric cars, but not Tesla"))
    assert [hit["_id"] for hit in less["hits"]["hits"]] == ["leaf", "zoe", "dolphin", "ami"]


def test_lines_for_rerank() -> None:
    said = python("-m", "excise", "rerank", str(EXAMPLES / "rerank.jsonl"))
    statuses = [{one["id"]: one["status"] for one in json.loads(line)["candidates"]} for line in said.splitlines()]
    assert statuses[0]["y"] == statuses[0]["three"] == "removed"
    assert set(statuses[2].values()) == {"kept"}


def test_every_example_is_run_by_a_test() -> None:
    here = {"elasticsearch_exclusion.py", "mcp_client.py", "pylate_exclusion.py", "rerank.jsonl"}
    here |= {f"{name}_exclusion.py" for name in WITH_EXTRAS}
    elsewhere = {"xbench.toml", "xbench_serve.py"}  # tests/xbench/test_bench_examples.py
    elsewhere |= {"study.toml", "study_core.toml", "tiny_study.toml"}  # tests/evaluation/experiments/test_study.py
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == here | elsewhere

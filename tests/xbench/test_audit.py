"""The audit: cues, documents, overlap, annotators, the sheet and the gallery."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from excise.suites.suites import load_suite
from excise.xbench.agreement import cohens_kappa
from excise.xbench.audit import AuditSources, annotation_sheet, audit_suite, write_audit
from excise.xbench.cues import cue_problem, explicit_cues, strict_cues
from excise.xbench.storage import XBenchError


@pytest.fixture
def flawed(tmp_path: Path) -> Path:
    """A suite with one flaw of each kind."""
    folder = tmp_path / "flawed"
    (folder / "qrels").mkdir(parents=True)
    (folder / "negatives").mkdir()
    documents = {"g": "Bread of wheat, baked at home.", "r": "Bread of rye.", "x": "Bread of rye and wheat, baked."}
    queries = [
        ("q1", "bread, not rye", "T1", ["rye"], "g", "r"),
        ("q2", "bread, rye is known to me", "T1", ["rye"], "g", "r"),  # no cue
        ("q3", "bread, but not rye", "T2", ["rye"], "g", "r"),  # a cue
        ("q4", "=bread; rye I know, and cannot praise", "T2", ["rye"], "x", "r"),  # Z in the gold
        ("q5", "bread, neither rye nor spelt", "T3", ["spelt"], "g", "r"),  # Z not in the negative
    ]
    lines = [{"_id": id, "title": "", "text": text} for id, text in documents.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = [{"_id": q, "text": t, "metadata": {"tier": tier, "excluded": z}} for q, t, tier, z, _, _ in queries]
    (folder / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    (folder / "qrels" / "test.tsv").write_text("".join(f"{q}\t{gold}\t1\n" for q, _, _, _, gold, _ in queries))
    (folder / "negatives" / "test.tsv").write_text("".join(f"{q}\t{n}\n" for q, _, _, _, _, n in queries))
    return folder


def test_every_flaw_is_found_and_nothing_else(flawed: Path) -> None:
    audit = audit_suite(flawed, "test")
    assert {(finding.check, finding.query) for finding in audit.findings} == {
        ("cue", "q2"),
        ("cue", "q3"),
        ("Z not in gold", "q4"),
        ("Z in negative", "q5"),
    }
    assert audit.cue_test["T1"] == (2, 0.5)
    assert audit.cue_test["T3"] == (1, 1.0)
    assert audit.further_cues == {"q3": ["not"], "q4": ["cannot"]}


@pytest.mark.parametrize(
    ("query", "strict", "explicit"),
    [
        ("Knots, notable annotations and exceptional nordic norms", [], []),
        ("gluten-free bread", ["-free"], ["-free"]),
        ("bread OTHER  THAN rye", ["other  than"], ["other  than"]),
        ("breads that aren\u2019t rye", [], ["n't"]),
        ("bread -rye", [], ["-"]),
        ("a well-known 3-day loaf - rye", [], []),
        ("bread minus rye", [], ["minus"]),
    ],
)
def test_cues(query: str, strict: list[str], explicit: list[str]) -> None:
    assert strict_cues(query) == strict
    assert explicit_cues(query) == explicit


def test_the_bundled_queries_pass_the_cue_test_and_the_gold_gate() -> None:
    for split in ("train", "dev"):
        audit = audit_suite("own", split)
        assert audit.cue_test["all"].share == 1.0
        checks = {finding.check for finding in audit.findings}
        assert checks <= {"Z in negative", "Z not in gold"}
        for finding in audit.findings:
            assert finding.check == "Z in negative" or "names" in finding.detail


def test_overlap_is_by_normalised_exact_match(flawed: Path, tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    lines = [{"text": "Bread -- NOT rye!"}, {"q1": "other", "positive": "bread of RYE", "negative": "wheat"}]
    train.write_text("".join(json.dumps(line) + "\n" for line in lines))
    audit = audit_suite(flawed, "test", AuditSources(train=(train,)))
    assert audit.overlap is not None
    (found,) = audit.overlap
    assert (found.queries, found.documents) == (1, 1)
    assert [finding.query for finding in audit.findings if finding.check == "overlap"] == ["q1"]


def test_kappa_of_a_known_table() -> None:
    """Twenty yes from both, fifteen no from both, five and ten split: kappa 0.4."""
    one = [True] * 25 + [False] * 25
    other = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert cohens_kappa(one, other) == pytest.approx(0.4)
    assert cohens_kappa([True, False], [False, True]) == -1.0
    with pytest.raises(XBenchError, match="same length"):
        cohens_kappa([True], [])


def test_two_annotators_are_compared_on_what_both_judged(flawed: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("id,verdict\nq1,yes\nq2,no\nq3,Yes\nq4,\n")
    other.write_text("id,verdict\nq1,1\nq2,no\nq3,no\nq4,yes\nq5,yes\n")
    sheets = AuditSources(annotations=(one, other))
    found = audit_suite(flawed, "test", sheets).annotators
    assert found is not None
    assert (found.queries, found.kappa, found.agreement) == (3, 0.4, 0.6667)
    assert found.with_labels["T1"] == (2, 0.5)
    other.write_text("id,verdict\nq1,perhaps\n")
    with pytest.raises(XBenchError, match=r"line 2: the verdict must be yes or no, got 'perhaps'"):
        audit_suite(flawed, "test", sheets)
    other.write_text("name,verdict\nq1,yes\n")
    with pytest.raises(XBenchError, match="needs the columns"):
        audit_suite(flawed, "test", sheets)


def test_the_sheet_is_stratified_seeded_and_safe_to_open(flawed: Path) -> None:
    own = load_suite("own", "dev")
    sheet = annotation_sheet(own, 30, seed=4)
    rows = list(csv.DictReader(io.StringIO(sheet)))
    assert [sum(row["tier"] == tier for row in rows) for tier in ("T1", "T2", "T3")] == [10, 10, 10]
    assert all(row["verdict"] == "" for row in rows)
    assert annotation_sheet(own, 30, seed=4) == sheet != annotation_sheet(own, 30, seed=5)
    assert "'=bread; rye I know" in annotation_sheet(load_suite(flawed, "test"), 9)


def test_the_folder_of_an_audit(flawed: Path, tmp_path: Path) -> None:
    queries = (flawed / "queries.jsonl").read_text().replace("bread, not rye", "bread <b>, not rye")
    (flawed / "queries.jsonl").write_text(queries)
    write_audit(flawed, "test", tmp_path / "audit")
    assert sorted(path.name for path in (tmp_path / "audit").iterdir()) == ["audit.json", "gallery.html", "sheet.csv"]
    page = (tmp_path / "audit" / "gallery.html").read_text()
    assert "bread &lt;b&gt;, not <mark>rye</mark>" in page
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page


def test_a_suite_without_tiers_is_refused(flawed: Path) -> None:
    (flawed / "queries.jsonl").write_text((flawed / "queries.jsonl").read_text().replace('"T', '"U'))
    with pytest.raises(XBenchError, match="no query of the split 'test' has the tier"):
        audit_suite(flawed, "test")


def test_every_tier_has_its_rule() -> None:
    assert cue_problem("T3", "bread, rye known") is not None
    assert cue_problem("plain", "bread, not rye") is None

"""The diagnosis on the built-in suite, with the small real encoder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from excise import extras
from excise.cli import app as cli
from excise.encoders.backbone import Backbone
from excise.engines.base import Engine
from excise.errors import BackboneError, ExciseError, InvalidInput
from excise.evaluation.experiments import probe
from excise.evaluation.experiments.diagnosis import Diagnosis, diagnose, find_topics, split_gap
from excise.search.operator import load
from excise.suites.suites import Suite, load_suite


@pytest.fixture(scope="module")
def suite_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One or two queries of each family of the built-in suite, and the documents that they judge."""
    whole, folder = load_suite("own", "dev"), tmp_path_factory.mktemp("suite") / "few"
    (folder / "qrels").mkdir(parents=True)
    (folder / "negatives").mkdir()
    queries = [query for query in whole.queries if query.id in whole.negatives][::9]
    golds = [(query.id, key) for query in queries for key, score in whole.qrels[query.id].items() if score > 0]
    excluded = [(query.id, key) for query in queries for key in sorted(whole.negatives[query.id])]
    judged = {key for _, key in (*golds, *excluded)}
    documents = [{"_id": one.id, "title": one.title, "text": one.text} for one in whole.documents() if one.id in judged]
    records = [{"_id": query.id, "text": query.text, "metadata": dict(query.metadata)} for query in queries]
    for name, lines in (("corpus", documents), ("queries", records)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "qrels" / "dev.tsv").write_text("".join(f"{query}\t{key}\t1\n" for query, key in golds))
    (folder / "negatives" / "dev.tsv").write_text("".join(f"{query}\t{key}\n" for query, key in excluded))
    return folder


@pytest.fixture(scope="module")
def suite(suite_folder: Path) -> Suite:
    return load_suite(suite_folder, "dev")


@pytest.fixture(scope="module")
def found(minilm: Backbone, suite: Suite) -> Diagnosis:
    return diagnose(suite, minilm)


@pytest.fixture(scope="module")
def index(minilm: Backbone, suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    operator = load(backbone=minilm)
    operator.index(suite.documents(), tmp_path_factory.mktemp("judged") / "index")
    assert operator.engine is not None
    return operator.engine


def test_gaps_are_those_of_the_best_gold_and_the_best_excluded_document(
    found: Diagnosis, minilm: Backbone, suite: Suite, index: Engine
) -> None:
    for one, query in zip(found.inversions, suite.queries, strict=True):
        reader = index.reader()
        found_ = reader.search([minilm.encode_query(query.text).vectors], len(reader))[0]
        scores = {document.id: score for document, score in zip(found_.documents, found_.scores, strict=True)}
        golds = [scores[key] for key, score in suite.qrels[query.id].items() if score > 0]
        excluded = [scores[key] for key in suite.negatives[query.id]]
        assert one.query == query.id
        assert one.gap == pytest.approx(max(excluded) - max(golds), abs=5e-2)


def test_proposition_1_holds_exactly(found: Diagnosis) -> None:
    for one in found.inversions:
        assert one.terms is not None
        assert one.gap == pytest.approx(one.terms.epsilon + one.terms.excluded, abs=1e-9)
    assert found.terms is not None
    assert found.gaps.mean == pytest.approx(found.terms.epsilon + found.terms.excluded, abs=1e-9)


def test_buckets_hold_every_query_once(found: Diagnosis) -> None:
    assert sum(bucket.queries for bucket in found.buckets) == found.gaps.queries == len(found.inversions)
    assert {bucket.name for bucket in found.buckets} <= {"1-3", "4-6", "7-10", ">=11"}
    inverted = sum(one.gap > 0 for one in found.inversions)
    assert found.gaps.inverted == pytest.approx(inverted / len(found.inversions))


def test_the_probe_reads_every_layer_and_the_projection(found: Diagnosis) -> None:
    assert found.probe is not None
    assert [one.layer for one in found.probe.layers] == ["L1", "L2", "L3", "L4", "L5", "L6", "final"]
    assert all(0 <= one.accuracy <= 1 for one in found.probe.layers)
    assert found.probe.pairs == found.gaps.queries


def test_the_last_layer_is_what_the_projection_starts_from(minilm: Backbone) -> None:
    text = " ".join(f"word{number} about boats" for number in range(150))  # more than one window
    layers = probe.layer_means(text, minilm)
    assert len(layers) == 6
    assert {layer.shape for layer in layers} == {(384,)}
    windows = minilm.windowing.cut(text)
    assert len(windows) > 1
    alone = [probe.layer_means(window, minilm)[-1] for window in windows]
    low, high = np.minimum.reduce(alone), np.maximum.reduce(alone)
    assert ((layers[-1] >= low - 1e-4) & (layers[-1] <= high + 1e-4)).all()


def test_a_document_is_never_in_two_folds() -> None:
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(30, 64)).astype(np.float32)
    rows = np.repeat(np.arange(30), 4)
    labels = np.repeat(rng.permutation([0, 1] * 15), 4)
    # Noise that repeats: a split that parts the copies of a document would be right nearly always.
    accuracy, _ = probe.grouped_accuracy(documents[rows], labels, rows)
    assert accuracy < 0.8
    assert probe.grouped_accuracy(documents[rows], labels, rows)[0] == accuracy


def test_too_few_documents_have_no_probe(minilm: Backbone, suite_folder: Path) -> None:
    assert diagnose(load_suite(suite_folder, "dev", limit=4), minilm).probe is None


def test_an_index_gives_the_same_gaps(minilm: Backbone, suite: Suite, found: Diagnosis, index: Engine) -> None:
    again = diagnose(suite, minilm, index, with_probe=False)
    assert [one.gap for one in again.inversions] == pytest.approx([one.gap for one in found.inversions], abs=5e-2)


def test_an_index_of_another_encoder_is_refused(minilm: Backbone, suite: Suite, index: Engine) -> None:
    other = Backbone("other", minilm.encoder, replace(minilm.preset, document_length=100))
    with pytest.raises(BackboneError, match="was built with the backbone 'minilm'"):
        diagnose(suite, other, index, with_probe=False)


def test_a_suite_that_rules_nothing_out_is_refused(minilm: Backbone, suite: Suite) -> None:
    with pytest.raises(InvalidInput, match="has no query with both golds and excluded documents"):
        diagnose(replace(suite, negatives={}), minilm)


def test_topics_must_all_be_named() -> None:
    assert find_topics("no Tesla, no tesla, no BYD", ["Tesla", "BYD"]) == [(3, 8), (13, 18), (23, 26)]
    assert find_topics("no Tesla", ["Tesla", "BYD"]) == []
    assert find_topics("no C++ please", ["C++"]) == [(3, 6)]
    assert find_topics("anything", []) == find_topics("anything", [" "]) == []


def test_a_query_that_names_no_topic_has_no_terms() -> None:
    spans = np.array([[-1, -1], [0, 4]])
    matches = np.ones(2, dtype=np.float32)
    assert split_gap(spans, matches, matches, []) is None
    assert split_gap(spans, matches, matches, [(10, 12)]) is None


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    done = CliRunner().invoke(cli.app, ["diagnose", "own", "--split", "dev", "--out", str(tmp_path / "d")])
    assert isinstance(done.exception, ExciseError)
    assert str(done.exception) == "the diagnosis needs scikit-learn and matplotlib: pip install 'excise[eval]'."


def test_the_command_writes_numbers_and_plots(suite_folder: Path, tmp_path: Path) -> None:
    command = ["diagnose", str(suite_folder), "--split", "dev", "--limit", "14", "--out", str(tmp_path)]
    done = CliRunner().invoke(cli.app, command)
    assert done.exit_code == 0
    assert "outscores the gold on" in done.output
    record = json.loads((tmp_path / "diagnosis.json").read_text())
    assert (record["suite"], record["split"], record["config"]["limit"]) == ("few", "dev", 14)
    assert record["gaps"]["queries"] == len(record["inversions"])
    for name in ("gap.png", "probe.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_the_command_prints_what_it_writes_as_json(suite_folder: Path, tmp_path: Path) -> None:
    command = ["diagnose", str(suite_folder), "--split", "dev", "--limit", "2", "--out", str(tmp_path), "--json"]
    printed = CliRunner().invoke(cli.app, command)
    assert json.loads(printed.stdout) == json.loads((tmp_path / "diagnosis.json").read_text())
    assert not (tmp_path / "probe.png").exists()

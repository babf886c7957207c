"""Fitting the coverage readout: on features whose answer is known, and end to end on a few bundled documents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from excise.cli.app import app
from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.errors import InvalidInput
from excise.rules.coverage import Coverage
from excise.rules.readout import READOUTS, CoverageReadout, read_readouts
from excise.search.match_features import FEATURES, WORD_FEATURES
from excise.training.coverage.graded import FAMILIES, GradedFeatures, family_searches, features_of, labelled_searches
from excise.training.coverage.readout_fit import fit_for_any, fit_readout, leave_one_out
from excise.training.coverage.readout_recipe import CARD, TRAINING, bundled_labels, make_readouts

LOCAL, NAMED = FEATURES.index("local"), FEATURES.index("named")


def made_up(size: int = 600, seed: int = 0) -> GradedFeatures:
    """Three domains of unequal size whose pairs cover their topics as a logistic model of two features says."""
    chance = np.random.default_rng(seed)
    features = chance.normal(size=(size, len(FEATURES)))
    truth = 1 / (1 + np.exp(-(3.0 * features[:, LOCAL] - 2.0 * features[:, NAMED] - 1.0)))
    domains = np.array(["news", "medicine", "wiki"])[chance.choice(3, size, p=[0.6, 0.3, 0.1])]
    return GradedFeatures(features, domains, chance.random(size) < truth)


def test_what_decides_is_found_and_what_does_not_is_not() -> None:
    graded = made_up(4_000)
    readout = fit_readout(graded)
    weight = dict(zip(readout.features, readout.coefficients, strict=True))
    assert readout.features == FEATURES
    assert weight["local"] == pytest.approx(3.0, abs=0.4)
    assert weight["named"] == pytest.approx(-2.0, abs=0.4)
    assert all(abs(weight[name]) < 0.3 for name in FEATURES if name not in ("local", "named"))
    chances = readout.probabilities(graded.features, FEATURES)
    sure = chances > 0.8  # calibrated: what it is so sure of is so often true
    assert graded.covers[sure].mean() == pytest.approx(chances[sure].mean(), abs=0.05)


def test_a_readout_of_some_features_reads_only_those() -> None:
    readout = fit_readout(made_up(), WORD_FEATURES)
    assert (readout.features, readout.weights) == (WORD_FEATURES, None)


def test_every_domain_counts_alike() -> None:
    """A large domain and a small one that say the opposite cancel out."""
    chance = np.random.default_rng(1)
    features = chance.normal(size=(1_100, len(FEATURES)))
    domains = np.array(["large"] * 1_000 + ["small"] * 100)
    covers = np.where(domains == "large", features[:, LOCAL] < 0, features[:, LOCAL] > 0)
    readout = fit_readout(GradedFeatures(features, domains, covers), ["local"])
    assert abs(readout.coefficients[0]) < 0.3


def test_a_feature_that_never_changes_does_no_harm() -> None:
    graded = made_up()
    graded.features[:, 0] = 0.7
    chances = fit_readout(graded).probabilities(graded.features, FEATURES)
    assert np.isfinite(chances).all()


@pytest.mark.parametrize("answer", [True, False])
def test_pairs_of_one_kind_are_refused(answer: bool) -> None:
    graded = made_up(20)
    with pytest.raises(InvalidInput, match="graded candidates that cover their topic and such that do not"):
        fit_readout(GradedFeatures(graded.features, graded.domains, np.full(20, answer)))


def test_a_readout_for_any_backbone_is_halfway_to_words_alone() -> None:
    graded = made_up()
    both, words, between = (
        np.log(chance / (1 - chance))
        for readout in (fit_readout(graded), fit_readout(graded, WORD_FEATURES), fit_for_any(graded))
        for chance in [readout.probabilities(graded.features, FEATURES)]
    )
    assert between == pytest.approx((both + words) / 2, abs=1e-6)


def test_a_backbone_is_measured_by_readouts_of_others_less_the_domain() -> None:
    graded, other, fitted_on = made_up(), made_up(seed=7), list[GradedFeatures]()

    def noting(seen: GradedFeatures) -> CoverageReadout:
        fitted_on.append(seen)
        return fit_readout(seen)

    *rows, _ = leave_one_out(graded, noting, other)
    for row, seen in zip(rows, fitted_on, strict=True):
        assert (seen.features == other.features[other.domains != row.domain]).all()


def test_a_domain_is_measured_without_having_been_seen() -> None:
    graded, fitted_on = made_up(), list[set[str]]()

    def noting(seen: GradedFeatures) -> CoverageReadout:
        fitted_on.append(set(seen.domains.tolist()))
        return fit_readout(seen)

    *rows, together = leave_one_out(graded, noting)
    domains = [row.domain for row in rows]
    assert sorted(domains) == ["medicine", "news", "wiki"]
    assert fitted_on == [set(domains) - {domain} for domain in domains]
    assert (together.candidates, together.covering) == (600, int(graded.covers.sum()))
    assert sum(row.candidates for row in rows) == 600


def test_a_domain_that_contradicts_the_others_fails_where_it_is_left_out() -> None:
    graded = made_up()
    covers = np.where(graded.domains == "news", ~graded.covers, graded.covers)
    honest, contrary = (
        {row.domain: row for row in leave_one_out(GradedFeatures(graded.features, graded.domains, answers))}
        for answers in (graded.covers, covers)
    )
    assert honest["news"].average_precision > 0.8
    assert contrary["news"].average_precision < 0.6


def test_what_is_measured_is_what_the_default_caution_removes() -> None:
    graded = made_up()
    own = graded.domains == "news"
    others = GradedFeatures(graded.features[~own], graded.domains[~own], graded.covers[~own])
    chances = fit_readout(others).probabilities(graded.features[own], FEATURES)
    removed, truth = chances >= Coverage().caution, graded.covers[own]
    row = next(row for row in leave_one_out(graded) if row.domain == "news")
    assert row.precision == pytest.approx(truth[removed].mean())
    assert row.recall == pytest.approx(removed[truth].mean())
    assert row.brier == pytest.approx(((chances - truth) ** 2).mean())


def test_without_pairs_there_is_nothing_to_fit(minilm: Backbone) -> None:
    with pytest.raises(InvalidInput, match="no graded candidates"):
        features_of([], minilm)


@pytest.fixture
def graded_files(own_documents: list[Document], tmp_path: Path) -> tuple[Path, dict[str, Path]]:
    """Labels over two corpora of ten bundled documents each: who names the topic covers it."""
    rows, corpora = [], {}
    for name, documents, topic in (("cars", own_documents[:10], "Tesla"), ("more", own_documents[10:20], None)):
        corpora[name] = tmp_path / f"{name}.jsonl"
        lines = [{"_id": one.id, "title": one.title, "text": one.text} for one in documents]
        corpora[name].write_text("".join(json.dumps(line) + "\n" for line in lines))
        asked = topic or documents[0].title
        for number, one in enumerate(documents):
            label = {"id": f"{name}{number}", "corpus": name, "query": f"all but {asked}", "wanted": "all"}
            grade = 2 * (topic in one.full_text if topic else number == 0)
            rows.append({**label, "topic": asked, "kind": "present", "document": one.id, "grade": grade})
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return labels, corpora


def test_features_stay_with_their_candidates(graded_files: tuple[Path, dict[str, Path]], minilm: Backbone) -> None:
    labels, corpora = graded_files
    searches, seen = labelled_searches([labels], corpora), list[tuple[str, int, int]]()
    assert [len(search.documents) for search in searches] == [10, 10]
    graded = features_of(searches[::-1], minilm, lambda *now: seen.append(now))
    assert seen[-1][1:] == (20, 20)
    cars = graded.domains == "cars"
    named = graded.features[:, NAMED] > 0
    assert (named[cars] == graded.covers[cars]).all()  # these labels say nothing else
    assert graded.covers.sum() == sum(sum(search.covers) for search in searches)
    once = features_of(searches, minilm)
    assert graded.features[10:] == pytest.approx(once.features[:10], abs=1e-6)  # in whatever order they are given


def test_the_bundled_families_count_for_less_and_are_not_measured() -> None:
    graded = made_up()
    features = np.concatenate([graded.features, graded.features])
    domains = np.concatenate([graded.domains, np.full(600, FAMILIES)])
    contrary = GradedFeatures(features, domains, np.concatenate([graded.covers, ~graded.covers]))
    *rows, together = leave_one_out(contrary)
    assert FAMILIES not in {row.domain for row in rows}
    assert together.candidates == 600
    weight = dict(zip(FEATURES, fit_readout(contrary).coefficients, strict=True))
    assert weight["local"] > 0.5  # the graded ones outweigh them


def test_what_the_bundled_queries_rule_out_covers_their_topics() -> None:
    searches = family_searches()
    assert {search.domain for search in searches} == {FAMILIES}
    assert all(len(search.documents) == len(search.covers) for search in searches)
    covering = sum(sum(search.covers) for search in searches)
    assert 0 < covering < sum(len(search.covers) for search in searches)


def test_readouts_are_fitted_and_written_with_their_card(
    graded_files: tuple[Path, dict[str, Path]], minilm: Backbone, tmp_path: Path
) -> None:
    labels, corpora = graded_files
    out = tmp_path / "new" / "coverage"
    fitted = make_readouts(out, [labels], corpora)
    (own,) = fitted.own
    assert read_readouts(out / READOUTS) == [own, fitted.any, fitted.words]
    assert (own.backbone, own.weights, own.levels) == ("minilm", minilm.judging.weights_fingerprint, None)
    assert (fitted.any.weights, fitted.any.features, fitted.words.features) == (None, FEATURES, WORD_FEATURES)
    figures = json.loads((out / TRAINING).read_text())
    assert [row["domain"] for row in figures["own"]["minilm"]] == ["cars", "more", "together"]
    assert figures["any"]["minilm"][-1]["candidates"] == 20
    card = (out / CARD).read_text()
    for part in ("labels.jsonl", "cars.jsonl", minilm.judging.weights_fingerprint, "| together | 20 |", "| local |"):
        assert part in card
    assert str(tmp_path) not in card  # a card names no machine's folders


def test_the_command_fits_from_files(graded_files: tuple[Path, dict[str, Path]], tmp_path: Path) -> None:
    labels, corpora = graded_files
    given = [part for name, path in corpora.items() for part in ("--corpus", f"{name}={path}")]
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["train", "coverage", "--out", str(out), "--labels", str(labels), *given])
    assert done.exit_code == 0, done.output
    assert "domains left out in turn: precision" in done.output
    assert len(read_readouts(out / READOUTS)) == 3


def test_the_labels_that_ship_are_found() -> None:
    assert {"reuters.jsonl", "scifact.jsonl", "wikipedia.jsonl"} <= {path.name for path in bundled_labels()}

"""Training examples: every label stands in its text, and what is held out stays out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from excise.errors import BadCorpus
from excise.training.detector.examples import (
    Example,
    balanced,
    generated_examples,
    located,
    own_examples,
    probe_examples,
    public_examples,
    written_examples,
)


def test_our_own_files_are_labelled_right() -> None:
    rows = [*own_examples(), *probe_examples(True), *written_examples(requests=True), *generated_examples(100, 0)]
    for row in rows:
        assert all(0 <= start < end <= len(row.text) for start, end in row.spans)
    assert sum(row.fires for row in rows) > 2_000
    assert sum(not row.fires for row in rows) > 2_500


def test_the_grid_of_length_and_label_is_filled() -> None:
    rows = balanced([*own_examples(), *written_examples()], seed=0)
    for fires in (True, False):
        for long in (True, False):
            assert sum(row.fires is fires and row.is_long is long for row in rows) > 300


def test_dev_families_and_probes_are_held_out() -> None:
    own, probes = list(own_examples()), list(probe_examples(True))
    held = {row.text for row in [*own, *probes] if row.held_out}
    assert len(held) > 500
    assert not held & {row.text for row in balanced([*own, *probes, *written_examples()], seed=0)}
    assert not any(row.held_out for row in probe_examples(False))


def test_hand_written_training_texts_are_not_the_held_out_ones() -> None:
    held = {row.text.casefold() for row in [*own_examples(), *probe_examples(True)] if row.held_out}
    assert not held & {row.text.casefold() for row in written_examples(requests=True)}


def test_plain_queries_are_thinned() -> None:
    """Ordinary queries beyond the limit are left out; all that was made for the detector stays."""
    made = list(generated_examples(10, 0))
    plain = [Example(f"query {number}", (), "plain", "plain") for number in range(20)]
    mixed = balanced([*plain, *made], seed=0, most_plain=3)
    assert sum(row.form == "plain" for row in mixed) == 3
    assert sorted(row.text for row in mixed if row.form != "plain") == sorted(row.text for row in made)
    assert len(balanced([*plain, *made], seed=0, most_plain=50)) == len(plain) + len(made)


@pytest.mark.parametrize(
    ("text", "topics", "spans"),
    [
        ("cars, not Tesla", ["tesla"], ((10, 15),)),
        ("A or a", ["a"], ((0, 1), (5, 6))),
        ("cars", ["Tesla"], None),
        ("cars", ['"'], None),
        ("İstanbul, not Ankara", ["Ankara"], ((14, 20),)),
    ],
)
def test_locating(text: str, topics: list[str], spans: object) -> None:
    assert located(text, topics) == spans


def test_public_sets_are_cleaned(tmp_path: Path) -> None:
    def write(name: str, *rows: object) -> None:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    write(
        "excluir_queries_only/train.jsonl",
        {"text": "films besides Annie", "excluded_silver": ["Annie"], "wanted_silver": "films"},
        {"text": "films of Annie", "excluded_silver": [], "wanted_silver": "films"},
        {"text": "films besides Annie", "excluded_silver": ["Oliver"], "wanted_silver": "films"},
        {"text": "films besides Annie", "excluded_silver": ["Annie"], "wanted_silver": "films like Annie"},
    )
    write("plain_queries/train.jsonl", {"text": "silver spot"})
    write("scifact/queries.jsonl", {"text": "Aspirin thins blood."})
    write("nfcorpus/queries.jsonl", {"text": "garlic"})
    rows = list(public_examples(tmp_path, seed=0))
    assert [row.source for row in rows] == ["excluir", "plain", "scifact", "nfcorpus"]
    assert [row.fires for row in rows] == [True, False, False, False]


def test_missing_data_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadCorpus, match=r"train\.jsonl: no such file"):
        list(public_examples(tmp_path, seed=0))


def test_requests_are_learned_from_where_they_are_asked_for() -> None:
    plain, more = set(written_examples()), set(written_examples(requests=True))
    assert plain < more
    assert {row.source for row in more - plain} == {"later-requests", "later-decoys"}
    assert sum(row.fires for row in more - plain) > 5_000

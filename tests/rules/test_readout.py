"""The coverage readout: what it reads, how it is kept, and the file that ships."""

from __future__ import annotations

import json
from dataclasses import astuple, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.encoders.backbone import Backbone, load_backbone
from excise.encoders.embedded import EmbeddedEncoder
from excise.errors import InvalidInput
from excise.model_folders import model_folder, shipped_folder
from excise.rules.readout import READOUTS, CoverageReadout, read_readouts, readout_for_any, readout_of, write_readouts
from excise.search.match_features import FEATURES, WORD_FEATURES
from excise.search.models import SearchModels
from excise.search.scale_measurement import measured_scale
from excise.search.similarity_scale import REFERENCE

OWN = CoverageReadout(("evidence", "named"), (0.5, 0.25), (0.1, 0.5), (2.0, 1.0), -0.5, "tiny", "abc")
ANY = CoverageReadout(("named",), (0.25,), (0.5,), (1.0,), 0.0)
finite = st.floats(-1e6, 1e6, allow_nan=False)


def shipped() -> list[CoverageReadout]:
    with as_file(files("excise") / "models" / "coverage" / READOUTS) as path:
        return read_readouts(path)


def test_what_is_written_is_read_back_exactly(tmp_path: Path) -> None:
    write_readouts(tmp_path / READOUTS, [OWN, ANY])
    assert read_readouts(tmp_path / READOUTS) == [OWN, ANY]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"readouts": 3}',
        '{"readouts": [3]}',
        '{"readouts": [[]]}',
        '{"readouts": [{}]}',
        json.dumps({"readouts": [{**OWN.to_dict(), "colour": "red"}]}),
        json.dumps({"readouts": [{**OWN.to_dict(), "means": [0.5]}]}),
        json.dumps({"readouts": [{**OWN.to_dict(), "scales": [0.1, 0.0]}]}),
        json.dumps({"readouts": [{**OWN.to_dict(), "coefficients": [1.0, float("nan")]}]}),
        json.dumps({"readouts": [{**OWN.to_dict(), "means": ["low", "high"]}]}),
        json.dumps({"readouts": [{**OWN.to_dict(), "intercept": None}]}),
    ],
)
def test_a_bad_file_is_refused_with_a_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / READOUTS
    path.write_text(content)
    with pytest.raises(InvalidInput, match=r"coverage\.json does not hold coverage readouts: .*[^.]\.$"):
        read_readouts(path)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not hold coverage readouts"):
        read_readouts(tmp_path / READOUTS)
    (tmp_path / READOUTS).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="does not hold coverage readouts"):
        read_readouts(tmp_path / READOUTS)


@pytest.mark.parametrize(
    "wrong",
    [{"features": ()}, {"means": (0.1,)}, {"scales": (0.1, -1.0)}, {"intercept": float("inf")}, {"levels": (0.1, 0.9)}],
)
def test_a_readout_that_does_not_add_up_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="a coverage readout"):
        replace(OWN, **wrong)


def test_a_backbone_gets_its_own_readout_and_else_the_one_for_any() -> None:
    both = replace(OWN, backbone=None, weights=None)
    assert readout_of([ANY, OWN], "abc") is OWN
    assert readout_of([OWN, ANY], "def") is None
    assert readout_for_any([OWN, ANY, both], ["named"]) is ANY
    assert readout_for_any([OWN, ANY, both], ["evidence", "named"]) is both
    for readouts in ([], [OWN], [both]):
        with pytest.raises(InvalidInput, match="no coverage readout for any backbone"):
            readout_for_any(readouts, ["named"])


def test_features_are_chosen_by_name_whatever_stands_beside_them() -> None:
    table = np.array([[[1.0, 7.0, 0.6], [0.0, -7.0, 0.4]]])  # one topic, two candidates
    chances = OWN.probabilities(table, ["named", "noise", "evidence"])
    assert chances.shape == (1, 2)
    logits = np.array([2.0 * 1.0 + 1.0 * 1.5 - 0.5, 2.0 * -1.0 + 1.0 * -0.5 - 0.5])
    assert chances[0] == pytest.approx(1 / (1 + np.exp(-logits)))
    swapped = OWN.probabilities(table[..., [2, 0]], ["evidence", "named"])
    assert swapped == pytest.approx(chances)


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=8), finite, st.floats(0, 1e6))
def test_more_of_what_speaks_for_covering_is_never_less_likely(
    rows: list[tuple[float, float]], coefficient: float, more: float
) -> None:
    readout = replace(OWN, coefficients=(coefficient, 1.0))
    table = np.array([rows])
    with np.errstate(all="raise", under="ignore"):  # no logit is too large
        before = readout.probabilities(table, ["evidence", "named"])
        after = readout.probabilities(table + np.array([more, 0.0]), ["evidence", "named"])
    assert ((before >= 0) & (before <= 1)).all()
    assert (after >= before).all() if coefficient >= 0 else (after <= before).all()


def test_the_file_that_ships_fits_the_backbone_that_ships(minilm: Backbone) -> None:
    readouts = shipped()
    own = readout_of(readouts, minilm.judging.weights_fingerprint)
    assert own is not None
    assert (own.backbone, own.weights) == (minilm.name, minilm.judging.weights_fingerprint)
    assert own.features == FEATURES
    models = SearchModels(minilm)
    assert models.readout == own
    assert models.scale is REFERENCE
    measured = measured_scale(minilm.judging)
    assert measured is not None
    assert astuple(measured) == pytest.approx(astuple(REFERENCE), abs=0.01)


def test_a_backbone_that_none_was_fitted_on_is_measured_and_gets_the_one_for_any(minilm: Backbone) -> None:
    assert isinstance(minilm.encoder, EmbeddedEncoder)
    models = SearchModels(Backbone("fewer", minilm.encoder.leading(64), replace(minilm.preset, judging=None)))
    assert models.scale == measured_scale(models.backbone) != REFERENCE
    assert models.readout == readout_for_any(shipped(), FEATURES)
    assert models.readout.features == FEATURES


def test_where_vectors_tell_nothing_words_alone_are_read(plain_checkpoint: Path) -> None:
    models = SearchModels(load_backbone(str(plain_checkpoint)))  # its weights are random
    assert measured_scale(models.backbone) is None
    assert models.readout == readout_for_any(shipped(), WORD_FEATURES)
    assert models.readout.features == WORD_FEATURES
    assert models.scale is REFERENCE


def test_a_folder_of_ones_own_stands_in_for_what_ships(
    minilm: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = replace(OWN, weights=minilm.judging.weights_fingerprint)
    (tmp_path / "coverage").mkdir()
    write_readouts(tmp_path / "coverage" / READOUTS, [mine])
    assert SearchModels(minilm, coverage=tmp_path / "coverage").readout == mine
    monkeypatch.setenv("EXCISE_MODELS", str(tmp_path))
    assert SearchModels(minilm).readout == mine
    assert model_folder("adapter") == shipped_folder("adapter")
    (tmp_path / "coverage" / READOUTS).unlink()
    with pytest.raises(InvalidInput, match="does not hold coverage readouts"):
        SearchModels(minilm).readout  # noqa: B018
    monkeypatch.setenv("EXCISE_MODELS", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInput, match=r"EXCISE_MODELS names .*nowhere, which has no folder"):
        SearchModels(minilm).readout  # noqa: B018


def test_what_ships_is_surer_of_a_page_on_the_topic_than_of_one_that_is_not() -> None:
    on = dict.fromkeys(FEATURES, 1.0) | {"places": np.log1p(20), "mentions": np.log1p(8), "tokens": np.log(2)}
    off = dict.fromkeys(FEATURES, 0.0) | {"evidence": 0.5, "weakest": 0.4, "local": 0.4, "tokens": np.log(2)}
    table = np.array([[[row[name] for name in FEATURES] for row in (on, off)]])
    for readout in shipped():
        sure, unsure = readout.probabilities(table, FEATURES)[0]
        assert sure > 0.9
        assert unsure < 0.05

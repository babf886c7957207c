"""Digests of weights are remembered by the files they came from, and nothing depends on the memory."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
import torch

from excise.encoders.backbone import load_backbone
from excise.encoders.fingerprints import FileState, file_states, remembered, weights_hash

ORIGIN = (FileState("/weights", 1, 2),)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXCISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Counted:
    """Computes a digest, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> str:
        self.times += 1
        return f"digest {self.times}"


def test_a_digest_is_computed_once(cache: Path) -> None:
    compute = Counted()
    assert remembered(ORIGIN, "settings", compute) == remembered(ORIGIN, "settings", compute) == "digest 1"
    assert [path.name for path in cache.iterdir()] == ["fingerprints.json"]
    assert remembered(ORIGIN, "other settings", compute) == "digest 2"
    assert remembered((ORIGIN[0]._replace(modified=3),), "settings", compute) == "digest 3"
    assert remembered((ORIGIN[0]._replace(size=3),), "settings", compute) == "digest 4"
    assert remembered(ORIGIN, "settings", compute) == "digest 1"


def test_what_comes_from_no_file_is_always_computed(cache: Path) -> None:
    compute = Counted()
    assert [remembered((), "settings", compute) for _ in range(2)] == ["digest 1", "digest 2"]
    assert not cache.exists()


@pytest.mark.parametrize("content", ["", "[1]", '{"a":', '{"a": 1}', "\ufffd"])
def test_a_broken_memory_does_no_harm(cache: Path, content: str) -> None:
    cache.mkdir()
    (cache / "fingerprints.json").write_text(content, encoding="utf-8")
    compute = Counted()
    assert remembered(ORIGIN, "", compute) == remembered(ORIGIN, "", compute) == "digest 1"


def test_a_memory_that_cannot_be_written_does_no_harm(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    compute = Counted()
    assert [remembered(ORIGIN, "", compute) for _ in range(2)] == ["digest 1", "digest 2"]


def test_the_memory_does_not_grow_for_ever(cache: Path) -> None:
    for number in range(260):
        remembered(ORIGIN, str(number), lambda: "digest")
    assert (cache / "fingerprints.json").read_text(encoding="utf-8").count("digest") == 256


def test_files_are_told_apart_by_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_text("one")
    first = file_states([path])
    assert file_states([path]) == first
    os.utime(path, ns=(1, 1))
    assert file_states([path]) != first
    assert file_states([path, tmp_path / "missing"]) == ()


def test_the_hash_is_over_names_and_values() -> None:
    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    expected = hashlib.sha256(b"name" + tensor.numpy().tobytes()).hexdigest()
    assert weights_hash([("name", tensor)]).hexdigest() == expected
    assert weights_hash([("name", tensor.T.contiguous().T)]).hexdigest() == expected
    assert weights_hash([("name", tensor.bfloat16())]).hexdigest() != expected


def test_a_backbone_is_hashed_once_on_a_machine(plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []
    monkeypatch.setattr("excise.encoders.backbone.weights_hash", lambda w: hashed.append(1) or weights_hash(w))
    prints = [
        (backbone.fingerprint, backbone.weights_fingerprint)
        for backbone in (load_backbone(str(plain_checkpoint)) for _ in range(2))
    ]
    assert prints[0] == prints[1]
    assert len(hashed) == 1


def test_trained_weights_are_not_taken_for_those_of_the_files(plain_checkpoint: Path) -> None:
    changed = load_backbone(str(plain_checkpoint))
    assert changed.encoder.origin
    with torch.no_grad():
        next(changed.encoder.parameters()).add_(1)
    assert changed.encoder.origin == ()
    assert changed.weights_fingerprint != load_backbone(str(plain_checkpoint)).weights_fingerprint

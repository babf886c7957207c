"""Training on triples with tiny encoders: every kind of learner learns, and goes on where it stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from excise.encoders.backbone import Backbone, load_backbone
from excise.errors import InvalidInput
from excise.rules.paper import Constants
from excise.training.adapter.exclusion_adapter import adapter_loss
from excise.training.contrastive.learner import Kind, Learner, best_evidence, penalised, relevance
from excise.training.contrastive.loop import LearnerArguments, Objective, best_rate, fit, measure
from excise.training.contrastive.triples import Triple
from excise.training.controls.finetune import control_loss


def learner(backbone: Backbone, kind: Kind = "adapter") -> Learner:
    torch.manual_seed(0)
    return Learner.of(backbone, kind)


def test_scores_are_those_of_the_product(minilm: Backbone) -> None:
    from excise.vectors.maxsim import evidence, maxsim

    texts = ["The Tesla Model 3 is an electric sedan.", "Bread, with rye."]
    untrained = Learner.of(minilm, "adapter")
    query, stored = minilm.encode_query("electric cars, but not Tesla"), minilm.encode_documents(texts)
    with torch.no_grad():
        documents = untrained.documents(texts)
        scores = relevance(untrained.queries(["electric cars, but not Tesla"]), documents)[0]
        match = best_evidence(untrained.topics(["Tesla", "rye bread"]), [0, 0], 1, documents)[0]
    assert scores.numpy() * len(query.vectors) == pytest.approx(maxsim(query.vectors, stored.windows), abs=2e-2)
    topics = minilm.encode_topics(["Tesla", "rye bread"])
    assert match.numpy() == pytest.approx(evidence(topics, stored.windows, "per-topic"), abs=2e-3)
    frozen = untrained.frozen_documents(texts)
    assert torch.equal(frozen.vectors[frozen.mask], documents.vectors[documents.mask])


def test_only_what_exceeds_the_cut_is_penalised() -> None:
    scores, match = torch.zeros(1, 4), torch.tensor([[0.9, 0.2, 0.2, 0.1]], requires_grad=True)
    after = penalised(scores, match, Constants())
    assert (after < 0).tolist() == [[True, False, False, False]]
    after.sum().backward()
    assert match.grad is not None
    assert match.grad.tolist()[0] == pytest.approx([-Constants().penalty_scale, 0, 0, 0])


@pytest.mark.parametrize("kind", ["adapter", "lora", "full", "query"])
def test_every_kind_learns_to_put_the_gold_first(
    tiny_backbone: Backbone, toy_triples: list[Triple], kind: Kind
) -> None:
    one = learner(tiny_backbone, kind)
    before = {name: tensor.clone() for name, tensor in tiny_backbone.encoder.state_dict().items()}
    frozen = measure(one, toy_triples)
    losses: list[float] = []
    loss_of = adapter_loss if kind == "adapter" else control_loss
    fit(
        one,
        toy_triples,
        loss_of,
        LearnerArguments(1e-2 if kind != "full" else 1e-3, epochs=12),
        lambda *at: losses.append(at[2]),
    )
    assert losses[-1] < 0.7 * losses[0]
    assert measure(one, toy_triples).first_operator > frozen.first_operator
    changed = any(not torch.equal(tensor, before[name]) for name, tensor in tiny_backbone.encoder.state_dict().items())
    assert changed == (kind == "full")


def test_an_interrupted_run_of_a_learner_goes_on(
    plain_checkpoint: Path, toy_triples: list[Triple], tmp_path: Path
) -> None:
    arguments = LearnerArguments(1e-3, epochs=3, batch=4)
    whole = learner(load_backbone(str(plain_checkpoint)))
    fit(whole, toy_triples, adapter_loss, arguments)

    def interrupt(done: int, total: int, _: float) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    backbone = load_backbone(str(plain_checkpoint))
    with pytest.raises(KeyboardInterrupt):
        fit(learner(backbone), toy_triples, adapter_loss, arguments, interrupt, tmp_path)
    resumed = learner(backbone)
    fit(resumed, toy_triples, adapter_loss, arguments, None, tmp_path)
    for name, parameter in whole.trained.named_parameters():
        assert resumed.trained.get_parameter(name).detach() == pytest.approx(parameter.detach(), abs=1e-5)
    with pytest.raises(InvalidInput, match="another run"):
        fit(resumed, toy_triples[:6], adapter_loss, arguments, None, tmp_path)


def test_equal_rates_go_to_the_smaller_one(tiny_backbone: Backbone, toy_triples: list[Triple]) -> None:
    split, arguments = (toy_triples[:4], toy_triples[4:]), LearnerArguments(epochs=1)
    objective = Objective(adapter_loss, lambda held: 1.0)
    best, found = best_rate(lambda: learner(tiny_backbone), objective, (1e-4, 1e-5), split, arguments)
    assert best == 1e-5
    assert list(found) == [1e-4, 1e-5]


@pytest.mark.parametrize("bad", [{"learning_rate": 0.0}, {"epochs": 0}, {"batch": 1}])
def test_bad_arguments_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        LearnerArguments(**bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no triples"):
        measure(Learner(None, "full", None), [])  # type: ignore[arg-type]

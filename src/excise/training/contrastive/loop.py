"""One way to train on triples, for the adapter and every control: the same batches, schedule, search and measure."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor, nn

from excise.errors import InvalidInput
from excise.progress import Progress, silent
from excise.rules.paper import Constants
from excise.training.contrastive.learner import Learner, Tokens, best_evidence, penalised, relevance
from excise.training.contrastive.triples import Triple, triple_batches
from excise.training.epochs import StepProgress, descend, rate_at, resume, save, with_loss

ADAPTER_RATES = (5e-5, 1e-4, 2e-4, 5e-4, 1e-3)  # the paper's grid for adapters
FULL_RATES = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4)  # and for full fine-tunes, which diverge above
Loss = Callable[[Learner, Sequence[Triple]], Tensor]
_WARMUP = 0.06


class Trainee(Protocol):
    """Whatever can be trained on triples: the module that is trained, and a name that tells its runs from others."""

    @property
    def trained(self) -> nn.Module: ...

    @property
    def kind(self) -> str: ...


AnyTrainee = TypeVar("AnyTrainee", bound=Trainee)


@dataclass(frozen=True)
class LearnerArguments:
    """How a learner is trained."""

    learning_rate: float = 2e-4
    epochs: int = 3
    batch: int = 12
    seed: int = 0

    def __post_init__(self) -> None:
        if self.learning_rate <= 0 or self.epochs < 1 or self.batch < 2:
            raise InvalidInput(f"learning rate and epochs must be positive and a batch at least 2, got {self}.")


@dataclass(frozen=True)
class Held:
    """Held-out triples: the share that is right.

    Attributes
    ----------
    relevance
        the gold scores above its confusable negative by MaxSim alone.
    evidence
        the negative has more evidence for the topic than the gold.
    operator
        the gold scores above its negative after the penalty.
    first, first_operator
        the gold scores above its negative and above every document that is not judged for the query, by MaxSim alone
        and after the penalty.
    """

    relevance: float
    evidence: float
    operator: float
    first: float
    first_operator: float


class Objective(NamedTuple):
    """What is learned: the loss over one batch, and what of the held-out figures a learning rate is chosen by."""

    loss: Loss
    criterion: Callable[[Held], float]


def fit(
    learner: AnyTrainee,
    triples: Sequence[Triple],
    loss_of: Callable[[AnyTrainee, Sequence[Triple]], Tensor],
    arguments: LearnerArguments,
    progress: StepProgress | None = None,
    checkpoints: Path | None = None,
) -> None:
    """Train a learner.

    Parameters
    ----------
    loss_of
        the objective over one batch.
    progress
        called with (steps done, steps in all, loss).
    checkpoints
        a folder that keeps the state after each epoch; a run that is called again with it goes on from there.
    """
    plan = [
        triple_batches(triples, arguments.batch, arguments.seed * 1000 + epoch) for epoch in range(arguments.epochs)
    ]
    steps = sum(len(epoch) for epoch in plan)
    trained = [parameter for parameter in learner.trained.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=arguments.learning_rate, weight_decay=0.01)
    run = json.dumps({**asdict(arguments), "kind": learner.kind, "triples": _digest(triples)}, sort_keys=True)
    start, kept = resume(checkpoints, optimizer, run)
    if kept:
        learner.trained.load_state_dict(kept, strict=False)  # only what is trained is kept
    before = done = sum(len(epoch) for epoch in plan[:start])
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_at(before + step, steps, _WARMUP))
    for epoch in range(start, arguments.epochs):
        for batch in plan[epoch]:
            loss = loss_of(learner, batch)
            descend(loss, trained, optimizer, scheduler)
            done += 1
            if progress is not None:
                progress(done, steps, loss.item())
        save(checkpoints, dict(learner.trained.named_parameters()), optimizer, run, epoch + 1)


def best_rate(
    fresh: Callable[[], Learner],
    objective: Objective,
    rates: Sequence[float],
    split: tuple[Sequence[Triple], Sequence[Triple]],
    arguments: LearnerArguments,
    progress: Progress = silent,
) -> tuple[float, dict[float, Held]]:
    """The rate that is best on held-out triples, and what each gave; ties go to the smaller rate.

    Parameters
    ----------
    fresh
        makes an untrained learner.
    split
        training and held-out triples.
    """
    train, held = split
    found: dict[float, Held] = {}
    for rate in rates:
        learner = fresh()
        told = with_loss(progress, f"rate {rate:g}")
        fit(learner, train, objective.loss, replace(arguments, learning_rate=rate), told)
        found[rate] = measure(learner, held)
    best = max(found, key=lambda rate: (round(objective.criterion(found[rate]), 4), -rate))
    return best, found


@torch.no_grad()
def measure(learner: Learner, triples: Sequence[Triple], constants: Constants | None = None) -> Held:
    """How often a learner is right on triples. The triples' documents together are the shortlist."""
    rows = [triple for triple in triples if triple.negative is not None and triple.topics]
    if not rows:
        raise InvalidInput("there are no triples with a topic and a negative to measure on.")
    documents = list({document.id: document for triple in rows for document in triple.documents}.values())
    encoded = learner.documents([document.full_text for document in documents])
    scores, matches = _scores(learner, rows, encoded)
    after = penalised(scores, matches, constants or Constants())
    place = {document.id: i for i, document in enumerate(documents)}
    gold = torch.tensor([place[triple.gold.id] for triple in rows])
    negative = torch.tensor([place[triple.negative.id] for triple in rows if triple.negative])
    rivals = torch.tensor([[d.id not in t.judged for d in documents] for t in rows])

    def wins(values: Tensor) -> Tensor:
        return _at(values, gold) > _at(values, negative)

    def leads(values: Tensor) -> Tensor:
        return wins(values) & (_at(values, gold) > values.masked_fill(~rivals, -9.0).amax(dim=1))

    shares = [wins(scores), wins(-matches), wins(after), leads(scores), leads(after)]
    return Held(*(round(float(share.float().mean()), 4) for share in shares))


def _scores(learner: Learner, rows: Sequence[Triple], documents: Tokens, size: int = 16) -> tuple[Tensor, Tensor]:
    """Relevance and evidence of every row's query in every document, a few rows at a time."""
    scores, matches = [], []
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        scores.append(relevance(learner.queries([triple.query for triple in part]), documents))
        matches.append(topic_evidence(learner, part, documents))
    return torch.cat(scores), torch.cat(matches)


def topic_evidence(learner: Learner, rows: Sequence[Triple], documents: Tokens) -> Tensor:
    """Each row's evidence for its own topics in every document."""
    topics = [(topic, i) for i, triple in enumerate(rows) for topic in triple.topics]
    if not topics:
        return documents.vectors.new_zeros(len(rows), len(documents.vectors))
    encoded = learner.topics([topic for topic, _ in topics])
    return best_evidence(encoded, [i for _, i in topics], len(rows), documents)


def _at(values: Tensor, columns: Tensor) -> Tensor:
    return values.gather(1, columns[:, None]).squeeze(1)


def _digest(triples: Sequence[Triple]) -> str:
    rows = [[t.query, t.topics, t.gold.id, t.negative.id if t.negative else None] for t in triples]
    return blake2b(json.dumps(rows).encode(), digest_size=8).hexdigest()


def sample(triples: Sequence[Triple], most: int, seed: int) -> list[Triple]:
    """At most so many triples, chosen by the seed."""
    return list(triples) if len(triples) <= most else random.Random(seed).sample(list(triples), most)

"""Training the detector: a tag for each token, one label per query, and pairs that must come apart."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from excise.encoders.precision import for_documents
from excise.encoders.tokens import TextTokenizer
from excise.errors import InvalidInput
from excise.topics.detector import WEIGHTS, Detector, DetectorConfig
from excise.topics.tagger import TAGS, TokenTagger
from excise.topics.words import is_content
from excise.training.detector.examples import Example
from excise.training.detector.teaching import Lesson
from excise.training.detector.unlabelled import UNLABELLED
from excise.training.epochs import StepProgress, descend, rate_at, resume, save

_MARGIN = 2.0  # in logits: as far as an exclusion is pushed above its partner
LEARNING_RATES = (5e-5, 1e-4, 2e-4, 5e-4, 1e-3)  # the paper's grid for adapters


@dataclass(frozen=True)
class DetectorArguments:
    """How the detector is trained.

    Parameters
    ----------
    typo_rate
        share of the queries that get a typing error, another set in each epoch.
    mask_rate
        share of the content tokens that are hidden, so that no single word decides.
    averaging
        the trained weights are an exponential average over the steps, with this decay; 0 takes the last ones.
    pair_weight
        what it counts that a query scores above its partner, which says almost the same and excludes nothing.
    head_rate
        the head learns so many times as fast as the encoder: it starts from nothing.
    lesson_weight
        where a teacher has said what it thinks of a query, the share of that in what is learned; labels have the rest.
    stop_after
        end after so many of the epochs, at the rate that the next one would begin with; 0 goes through all of them. Who
        has not learned its rows by heart has more to say of them as a teacher.
    """

    learning_rate: float = 1e-3
    epochs: int = 4
    batch_tokens: int = 512
    max_tokens: int = 256
    positive_weight: float = 2.0
    query_weight: float = 1.0
    warmup: float = 0.06
    typo_rate: float = 0.1
    mask_rate: float = 0.05
    averaging: float = 0.995
    pair_weight: float = 0.5
    head_rate: float = 1.0
    lesson_weight: float = 0.7
    stop_after: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.learning_rate <= 0 or self.epochs < 1 or self.batch_tokens < 64:
            raise InvalidInput(f"learning rate, epochs and batch size must be positive, got {self}.")
        if not 0 <= self.stop_after <= self.epochs:
            raise InvalidInput(f"training can stop after one of its {self.epochs} epochs, not after {self.stop_after}.")


@dataclass(frozen=True, eq=False)
class _Item:
    """One tokenised query: each token's tag, which tokens can name a topic, and what a teacher says of it.

    Where nobody has labelled it, its tags mean nothing, and what the teacher says is all that is known.
    """

    ids: list[int]
    tags: list[int]
    content: list[bool]
    labelled: bool = True
    lesson: Lesson | None = None

    @property
    def fires(self) -> bool:
        return any(tag and content for tag, content in zip(self.tags, self.content, strict=True))


def train_detector(
    examples: Sequence[Example],
    arguments: DetectorArguments,
    config: DetectorConfig | None = None,
    progress: StepProgress | None = None,
    checkpoints: Path | None = None,
    start: Path | None = None,
    lessons: Sequence[Lesson] | None = None,
) -> Detector:
    """Train a detector.

    Parameters
    ----------
    examples
        queries with the spans of their excluded topics.
    arguments
        learning rate, epochs, seed and the rest.
    progress
        called with (steps done, steps in all, loss).
    checkpoints
        a folder that keeps the state after each epoch; a run that is called again with it goes on from there.
    start
        the folder of a detector to train further, in place of a configuration and fresh weights.
    lessons
        what a teacher says of each example's query.
    """
    torch.manual_seed(arguments.seed)
    detector = Detector.untrained(config) if start is None else Detector.to_train_on(start)
    items = [_item(detector.tokenizer, example, arguments.max_tokens) for example in examples]
    if lessons is not None:
        items = [replace(item, lesson=lesson) for item, lesson in zip(items, lessons, strict=True)]
    tagger, average = detector.tagger, _Average(detector.tagger, arguments.averaging)
    trained, optimizer = _optimizer(tagger, arguments)
    together = _pairs(examples)
    plan = [list(_batches(items, together, arguments, epoch)) for epoch in range(arguments.epochs)]
    steps = sum(len(batches) for batches in plan)
    run = _run(examples, arguments, start, lessons)
    first, kept = resume(checkpoints, optimizer, run)
    before = done = sum(len(batches) for batches in plan[:first])
    if kept:
        tagger.load_state(average.resumed(kept, before))
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: rate_at(before + step, steps, arguments.warmup)
    )
    for epoch in range(first, arguments.stop_after or arguments.epochs):
        tagger.train()
        torch.manual_seed(arguments.seed * 1000 + epoch)
        varied = _varied(detector.tokenizer, examples, items, arguments, epoch)
        for batch in plan[epoch]:
            # Products in bfloat16 where that is faster; sums stay floats. Plain attention: short queries, forward and
            # back, take two thirds of the time that the fused kernel needs.
            with for_documents(), sdpa_kernel(SDPBackend.MATH):
                loss = _loss(tagger, [[varied[i] for i in unit] for unit in batch], arguments)
            descend(loss, trained, optimizer, scheduler)
            average.update(tagger)
            done += 1
            if progress is not None:
                progress(done, steps, loss.item())
        save(checkpoints, {**tagger.state(), **average.kept()}, optimizer, run, epoch + 1)
    tagger.load_state(average.state)
    tagger.eval()
    return detector


def _run(
    examples: Sequence[Example], arguments: DetectorArguments, start: Path | None, lessons: Sequence[Lesson] | None
) -> str:
    """What makes a run the same as another."""
    rows = [[example.text, example.spans] for example in examples]
    told = {**asdict(arguments), "examples": _digest(json.dumps(rows).encode())}
    if start is not None:
        told["start"] = _digest((start / WEIGHTS).read_bytes())
    if lessons is not None:
        told["lessons"] = _digest(json.dumps([round(lesson.query, 3) for lesson in lessons]).encode())
    return json.dumps(told, sort_keys=True)


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()


def _item(tokenizer: TextTokenizer, example: Example, max_tokens: int) -> _Item:
    pieces = tokenizer.pieces(example.text, most=max_tokens)
    tags, before = [], -1
    for a, b in pieces.spans:
        topic = next((i for i, (start, end) in enumerate(example.spans) if a < end and b > start and b > a), -1)
        tags.append(0 if topic < 0 else 2 if topic == before else 1)
        before = topic
    content = [is_content(example.text[a:b]) for a, b in pieces.spans]
    return _Item(pieces.ids, tags, content, example.form != UNLABELLED)


def _optimizer(tagger: TokenTagger, arguments: DetectorArguments) -> tuple[list[nn.Parameter], torch.optim.Optimizer]:
    """What is trained, and what trains it."""
    encoder = [parameter for parameter in tagger.encoder.parameters() if parameter.requires_grad]
    head = [parameter for name, parameter in tagger.named_parameters() if not name.startswith("encoder.")]
    rate = arguments.learning_rate
    groups = [{"params": encoder, "lr": rate}, {"params": head, "lr": rate * arguments.head_rate}]
    return [*encoder, *head], torch.optim.AdamW(groups, weight_decay=0.01, fused=True)


def _pairs(examples: Sequence[Example]) -> list[list[int]]:
    """Which queries go through together: an exclusion with its partner, any other alone."""
    units: dict[str, list[int]] = {}
    for i, example in enumerate(examples):
        units.setdefault(example.pair or f"#{i}", []).append(i)
    return [sorted(unit, key=lambda i: not examples[i].fires) for unit in units.values()]


class _Average:
    """An exponential average of the trained weights: what a step or an epoch happens to end on counts less."""

    def __init__(self, tagger: TokenTagger, decay: float) -> None:
        self.decay = decay
        self.steps = 0
        self.state = {name: tensor.clone() for name, tensor in tagger.state().items()}

    def kept(self) -> dict[str, Tensor]:
        """What a checkpoint keeps of it, beside the weights themselves."""
        return {f"average.{name}": tensor for name, tensor in self.state.items()}

    def resumed(self, kept: dict[str, Tensor], steps: int) -> dict[str, Tensor]:
        """Go on from a checkpoint after so many steps; returns the weights that it keeps beside the average."""
        self.state = {name: kept[f"average.{name}"] for name in self.state}
        self.steps = steps
        return {name: tensor for name, tensor in kept.items() if not name.startswith("average.")}

    def update(self, tagger: TokenTagger) -> None:
        self.steps += 1
        decay = min(self.decay, (self.steps - 1) / (self.steps + 9))  # early on, the first weights must not linger
        for name, tensor in tagger.state().items():
            self.state[name].lerp_(tensor, 1 - decay)


def _varied(
    tokenizer: TextTokenizer,
    examples: Sequence[Example],
    items: Sequence[_Item],
    arguments: DetectorArguments,
    epoch: int,
) -> list[_Item]:
    """The epoch's own version of every query: some with a typing error, some content tokens hidden."""
    chooser = random.Random(f"{arguments.seed} {epoch}")
    varied = []
    for example, item in zip(examples, items, strict=True):
        if chooser.random() < arguments.typo_rate and item.labelled:  # a lesson is about the words as they were
            item = _item(tokenizer, replace(example, text=mistyped(example.text, chooser)), arguments.max_tokens)
        hidden = [content and chooser.random() < arguments.mask_rate for content in item.content]
        ids = [tokenizer.mask_id if hide else token for token, hide in zip(item.ids, hidden, strict=True)]
        varied.append(replace(item, ids=ids))
    return varied


def mistyped(text: str, chooser: random.Random) -> str:
    """Swap two neighbouring letters inside one longer word. The length stays, and so do all character offsets.

    Examples
    --------
    >>> mistyped("without onion", random.Random(1))
    'wtihout onion'
    """
    places = [match.start() for match in re.finditer(r"(?<=[^\W\d_])[^\W\d_]{2}(?=[^\W\d_]{2})", text)]
    if not places:
        return text
    at = chooser.choice(places)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def _batches(
    items: Sequence[_Item], together: Sequence[list[int]], arguments: DetectorArguments, epoch: int
) -> Iterator[list[list[int]]]:
    """Batches of queries of like length, about ``batch_tokens`` tokens each, in an order of the epoch's own."""
    chooser = random.Random(arguments.seed * 1000 + epoch)
    widths = [max(len(items[i].ids) for i in unit) for unit in together]
    order = sorted(range(len(together)), key=lambda u: (widths[u] + chooser.uniform(0, 6), u))
    batches: list[list[list[int]]] = [[]]
    rows = width = 0
    for u in order:
        rows, width = rows + len(together[u]), max(width, widths[u])
        if batches[-1] and rows * width > arguments.batch_tokens:
            batches.append([])
            rows, width = len(together[u]), widths[u]
        batches[-1].append(together[u])
    chooser.shuffle(batches)
    yield from batches


def _loss(tagger: TokenTagger, batch: Sequence[Sequence[_Item]], arguments: DetectorArguments) -> Tensor:
    """Cross-entropy of the tags; the same for the query as a whole, which its strongest content token speaks for; and
    how far each exclusion stands above its partner."""
    items = [item for unit in batch for item in unit]
    width = max(len(item.ids) for item in items)

    def padded(rows: list[list[Any]], kind: torch.dtype) -> Tensor:
        return torch.tensor([row + [0] * (width - len(row)) for row in rows], dtype=kind)

    mask = padded([[1] * len(item.ids) for item in items], torch.long)
    tags = padded([item.tags for item in items], torch.long)
    content = padded([list(item.content) for item in items], torch.bool)
    judged = tagger(padded([item.ids for item in items], torch.long), mask)
    weights = torch.where(tags > 0, arguments.positive_weight, 1.0) * mask
    targets = _targets(items, tags, arguments.lesson_weight)
    told = judged.tags.transpose(1, 2)
    token_loss = (nn.functional.cross_entropy(told, targets.tags.transpose(1, 2), reduction="none") * weights).sum()
    strongest = judged.excluded.masked_fill(~content, -30.0).amax(dim=1)
    query_loss = nn.functional.binary_cross_entropy_with_logits(strongest, targets.strongest)
    if judged.query is not None:
        query_loss = query_loss + 0.5 * nn.functional.binary_cross_entropy_with_logits(judged.query, targets.query)
    loss = token_loss / len(items) / 8 + arguments.query_weight * query_loss
    firsts = np.cumsum([0, *(len(unit) for unit in batch)])[:-1]
    paired = [int(first) for first, unit in zip(firsts, batch, strict=True) if [i.fires for i in unit] == [True, False]]
    if paired:
        apart = strongest[paired] - strongest[[first + 1 for first in paired]]
        loss = loss + arguments.pair_weight * nn.functional.softplus(_MARGIN - apart).mean()
    return loss


class _Targets(NamedTuple):
    """What a batch should say: chances of the tags, of the strongest token, and of the query as a whole."""

    tags: Tensor
    strongest: Tensor
    query: Tensor


def _targets(items: Sequence[_Item], tags: Tensor, share: float) -> _Targets:
    """The labels; where a teacher spoke, mixed with its share; where there are none, what the teacher says."""
    chances = nn.functional.one_hot(tags, TAGS).float()
    strongest = torch.tensor([float(item.fires) for item in items])
    query = strongest.clone()
    for row, item in enumerate(items):
        if item.lesson is None:
            continue
        told, counts = item.lesson.excluded[torch.tensor(item.content)], share if item.labelled else 1.0
        chances[row, : len(item.ids)].lerp_(item.lesson.tags, counts)
        strongest[row].lerp_(told.max() if len(told) else torch.tensor(0.0), counts)
        query[row].lerp_(torch.tensor(item.lesson.query), counts)
    return _Targets(chances, strongest, query)


def span_scores(detector: Detector, examples: Sequence[Example]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The detector's score for each example's query."""
    return np.array([detection.score for detection in detector.detect([example.text for example in examples])])

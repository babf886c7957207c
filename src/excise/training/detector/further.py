"""Training a detector further: on rows that it has not seen, beside a share of the old ones.

What comes out can be mixed with the weights of before, for what they knew: they lie near enough to be averaged
(Wortsman et al. 2022, "Robust fine-tuning of zero-shot models").
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from excise.errors import InvalidInput
from excise.topics.detector import Detector
from excise.training.detector.examples import LATER, Example
from excise.training.detector.tagging import DetectorArguments, train_detector
from excise.training.detector.teaching import Lesson
from excise.training.epochs import StepProgress


@dataclass(frozen=True)
class Start:
    """Where further training starts.

    Parameters
    ----------
    folder
        a detector that was trained before.
    rehearse
        the share of the older rows that is gone through again.
    keep
        the share of the weights of before in what comes out.
    """

    folder: Path
    rehearse: float = 0.33
    keep: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.rehearse <= 1 or not 0 <= self.keep < 1:
            raise InvalidInput(f"shares lie between 0 and 1, got {self.rehearse} and {self.keep}.")


def train_further(
    start: Start,
    examples: Sequence[Example],
    arguments: DetectorArguments,
    progress: StepProgress | None = None,
    checkpoints: Path | None = None,
    lessons: Sequence[Lesson] | None = None,
) -> Detector:
    """Train a detector from where it is, and mix the weights with those of before."""
    before = Detector.to_train_on(start.folder).tagger.state()
    trained = train_detector(examples, arguments, None, progress, checkpoints, start.folder, lessons)
    after = trained.tagger.state()
    trained.tagger.load_state({name: old.lerp(after[name], 1 - start.keep) for name, old in before.items()})
    return trained


def rehearsed(examples: Sequence[Example], share: float, seed: int) -> list[Example]:
    """The later rows, and a share of the others; an exclusion and its partner stay together.

    Examples
    --------
    >>> rows = [Example(text, (), source, "plain") for text, source in (("a", "old"), ("b", "old"), ("c", "later-1"))]
    >>> [row.text for row in rehearsed(rows, 0.5, seed=0)]
    ['b', 'c']
    """
    names = [example.pair or f"#{i}" for i, example in enumerate(examples)]
    later = [example.source.startswith(LATER) for example in examples]
    older = list(dict.fromkeys(name for name, new in zip(names, later, strict=True) if not new))
    chosen = set(random.Random(seed).sample(older, round(share * len(older))))
    return [row for row, name, new in zip(examples, names, later, strict=True) if new or name in chosen]

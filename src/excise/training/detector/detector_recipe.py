"""The detector from data to card: choose the rate, measure on what was held out, calibrate, train on all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from excise.documents import read_documents
from excise.encoders.bert import Bert
from excise.errors import InvalidInput
from excise.progress import Progress, silent
from excise.topics.detector import Detector, DetectorConfig
from excise.training.detector.detector_card import keep_card, write_detector_card
from excise.training.detector.examples import (
    Example,
    balanced,
    generated_examples,
    own_examples,
    probe_examples,
    public_examples,
    written_examples,
    written_names,
)
from excise.training.detector.further import Start, rehearsed, train_further
from excise.training.detector.kept_lessons import asked_once
from excise.training.detector.tagging import LEARNING_RATES, DetectorArguments, span_scores, train_detector
from excise.training.detector.teaching import (
    Lesson,
    agreed,
    check_same_words,
    lessons,
    load_teacher,
    recombined,
)
from excise.training.detector.unlabelled import sentences
from excise.training.detector.validation import GroupReport, calibrated, validate
from excise.training.epochs import with_loss

SAMPLES = 256  # training queries that show how large numbers grow in the encoder


@dataclass(frozen=True)
class DetectorRecipe:
    """What a detector is trained on and how.

    Parameters
    ----------
    start
        the detector to train further, in place of fresh weights.
    later
        whether to learn from the rows that were written later too.
    left_out
        files of written rows that are not learned from.
    teachers
        detectors whose judgement of each training query, on average, is learned beside the labels.
    recombined
        how many exclusions are learned from with the topics of others, too; their partners as well.
    text, sentences
        a corpus, of which so many sentences are learned from as the teachers read them; its titles may take the places
        of topics where queries are recombined.
    kept_lessons
        a folder that keeps what the teachers say, for other students of the same queries.
    requests
        whether to learn from the professional requests, too, and recombine with the names that came with them.
    """

    data: Path | None
    generated: int
    most_plain: int
    limit: int | None
    probes: bool
    config: DetectorConfig
    arguments: DetectorArguments
    start: Start | None = None
    later: bool = True
    left_out: tuple[str, ...] = ()
    teachers: tuple[Path, ...] = ()
    recombined: int = 0
    text: Path | None = None
    sentences: int = 12_000
    kept_lessons: Path | None = None
    requests: bool = False

    def __post_init__(self) -> None:
        if self.text is not None and not self.teachers:
            raise InvalidInput("nobody has labelled the sentences of a text: name a teacher to read them (--teacher).")

    def examples(self, probes_held_out: bool) -> tuple[list[Example], list[Example]]:
        """Training and held-out examples. The bundled dev families are always held out."""
        seed = self.arguments.seed
        rows = [
            *own_examples(),
            *probe_examples(probes_held_out),
            *written_examples(self.later, self.left_out, self.requests),
            *generated_examples(self.generated, seed),
            *(public_examples(self.data, seed) if self.data else ()),
        ]
        train = balanced(rows, seed, self.most_plain)
        if self.start is not None:
            train = rehearsed(train, self.start.rehearse, seed)
        documents = list(read_documents(self.text, skip_bad=True)) if self.text is not None else []
        if self.recombined:
            others = [*(written_names() if self.requests else ()), *(document.title for document in documents)]
            train = [*train, *recombined(train, self.recombined, seed, others)]
        train = [*train, *sentences(documents, self.sentences, seed)]
        held = [row for row in rows if row.held_out]
        return train[: self.limit], held if self.limit is None else held[:: max(1, len(held) // self.limit)]


def make_detector(
    recipe: DetectorRecipe, out: Path, choose_rate: bool, progress: Progress = silent
) -> list[GroupReport]:
    """Train, measure and write a detector with its card; returns what was measured on held-out queries.

    Where ``recipe.probes`` is set, what is written is retrained with the probe files, which only the measured twin
    holds out.
    """
    rates: dict[float, float] = {}
    if choose_rate:
        rates = rate_scores(recipe, progress)
        best = max(rates, key=lambda rate: (round(rates[rate], 4), -rate))  # ties go to the smaller rate
        recipe = replace(recipe, arguments=replace(recipe.arguments, learning_rate=best))
    train, held = recipe.examples(probes_held_out=True)
    twin = _trained(recipe, train, "measuring", out / "validation-run", progress)
    judged = _as_loaded(twin, recipe.config, out, train)
    calibration = calibrated(span_scores(judged, held), held, recipe.config.threshold)
    recipe = replace(recipe, config=replace(recipe.config, threshold=calibration.threshold))
    reports = validate(Detector(judged.tagger, judged.tokenizer, recipe.config), held)
    if recipe.probes:
        train, _ = recipe.examples(probes_held_out=False)
        twin = _trained(recipe, train, "training", out / "final-run", progress)
    _as_loaded(twin, recipe.config, out, train)
    write_detector_card(out, recipe, len(train), reports, calibration, rates)
    if recipe.start is not None:
        keep_card(recipe.start.folder, out)
    return reports


def _trained(
    recipe: DetectorRecipe, train: Sequence[Example], title: str, checkpoints: Path, progress: Progress
) -> Detector:
    told, taught = with_loss(progress, title), None
    if recipe.teachers:
        taught = _lessons(recipe, train, progress)
    if recipe.start is not None:
        return train_further(recipe.start, train, recipe.arguments, told, checkpoints, taught)
    return train_detector(train, recipe.arguments, recipe.config, told, checkpoints, lessons=taught)


def _lessons(recipe: DetectorRecipe, train: Sequence[Example], progress: Progress) -> list[Lesson]:
    """What the teachers say of every training query."""
    student = Detector.untrained(recipe.config) if recipe.start is None else load_teacher(recipe.start.folder)
    said: dict[Path, list[Lesson]] = {}
    for folder in dict.fromkeys(recipe.teachers):
        teacher, most = load_teacher(folder), recipe.arguments.max_tokens
        check_same_words(teacher, student, " ".join(row.text for row in train[:SAMPLES]))
        if recipe.kept_lessons is None:
            said[folder] = lessons(teacher, train, most, progress)
        else:
            said[folder] = asked_once(recipe.kept_lessons, folder, train, most, progress)
    return agreed([said[folder] for folder in recipe.teachers])


def _as_loaded(trained: Detector, config: DetectorConfig, out: Path, train: Sequence[Example]) -> Detector:
    """Write a detector, and read it as a user will: with weights as they are stored."""
    whole = config.rank == 0 and isinstance(trained.tagger.encoder, Bert)
    if whole:  # the folder that the base was read from is of no use to anybody else
        config = replace(config, encoder=Path(config.encoder).name)
    samples = [example.text for example in train[:SAMPLES]]
    Detector(trained.tagger, trained.tokenizer, config).save_pretrained(out, samples)
    return Detector.from_pretrained(out) if whole else trained


def rate_scores(
    recipe: DetectorRecipe, progress: Progress = silent, sample: int = 2_500, judged: int = 1_200
) -> dict[float, float]:
    """Held-out Youden's J of each learning rate of the grid, after one pass over a sample.

    J is taken at each rate's own best threshold: one pass is too short for scores to reach their final scale.
    """
    train, held = recipe.examples(probes_held_out=True)
    held = held[:: max(1, len(held) // judged)]
    fires = np.array([row.fires for row in held])
    found = {}
    for rate in LEARNING_RATES:
        one = replace(recipe, arguments=replace(recipe.arguments, learning_rate=rate, epochs=1))
        told = with_loss(progress, f"learning rate {rate:g}")
        scores = span_scores(train_detector(train[:sample], one.arguments, one.config, told), held)
        found[rate] = max(float((scores[fires] > t).mean() - (scores[~fires] > t).mean()) for t in np.unique(scores))
    return found

"""The detector from data to card: choose the rate, measure on what was held out, calibrate, train on all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from excise.encoders.bert import Bert
from excise.errors import InvalidInput
from excise.progress import Progress, silent
from excise.topics.detector import Detector, DetectorConfig, read_config
from excise.training.detector.examples import (
    Example,
    balanced,
    generated_examples,
    own_examples,
    probe_examples,
    public_examples,
    written_examples,
)
from excise.training.detector.further import Start, rehearsed, train_further
from excise.training.detector.tagging import LEARNING_RATES, DetectorArguments, span_scores, train_detector
from excise.training.detector.teaching import (
    Lesson,
    agreed,
    check_same_words,
    lessons,
    load_teacher,
    recombined,
)
from excise.training.detector.unlabelled import corpus_of, sentences
from excise.training.detector.validation import (
    REPORT_HEADER,
    GroupReport,
    ThresholdChoice,
    choose_threshold,
    report_rows,
    validate,
)
from excise.training.epochs import with_loss

OWN_CARD = "TRAINING.md"  # the card of a detector that is one of a pair
FIRST_CARD = "FIRST.md"  # that of a detector which was trained further
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

    def __post_init__(self) -> None:
        if self.text is not None and not self.teachers:
            raise InvalidInput("nobody has labelled the sentences of a text: name a teacher to read them (--teacher).")

    def examples(self, probes_held_out: bool) -> tuple[list[Example], list[Example]]:
        """Training and held-out examples. The bundled dev families are always held out."""
        seed = self.arguments.seed
        rows = [
            *own_examples(),
            *probe_examples(probes_held_out),
            *written_examples(self.later, self.left_out),
            *generated_examples(self.generated, seed),
            *(public_examples(self.data, seed) if self.data else ()),
        ]
        train = balanced(rows, seed, self.most_plain)
        if self.start is not None:
            train = rehearsed(train, self.start.rehearse, seed)
        documents = corpus_of(self.text) if self.text is not None else []
        if self.recombined:
            titles = [document.title for document in documents]
            train = [*train, *recombined(train, self.recombined, seed, titles)]
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
    calibration = choose_threshold(span_scores(judged, held), held, recipe.config.threshold)
    recipe = replace(recipe, config=replace(recipe.config, threshold=calibration.threshold))
    reports = validate(Detector(judged.tagger, judged.tokenizer, recipe.config), held)
    if recipe.probes:
        train, _ = recipe.examples(probes_held_out=False)
        twin = _trained(recipe, train, "training", out / "final-run", progress)
    _as_loaded(twin, recipe.config, out, train)
    _write_card(out, recipe, len(train), reports, calibration, rates)
    if recipe.start is not None:
        _keep_card(recipe.start.folder, out)
    return reports


def _keep_card(folder: Path, out: Path) -> None:
    """Keep the card of the detector that was trained further, which says how to make it, and under it those before."""
    own = [folder / OWN_CARD, folder / "README.md"]  # in the folder of a pair, the second is the pair's
    cards = [*[card for card in own if card.exists()][:1], folder / FIRST_CARD]
    kept = [card.read_text(encoding="utf-8") for card in cards if card.exists()]
    if kept:
        (out / FIRST_CARD).write_text("\n".join(kept), encoding="utf-8")


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
    said = []
    for folder in recipe.teachers:
        teacher = load_teacher(folder)
        check_same_words(teacher, student, " ".join(row.text for row in train[:SAMPLES]))
        said.append(lessons(teacher, train, recipe.arguments.max_tokens, progress))
    return agreed(said)


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


def _write_card(
    out: Path,
    recipe: DetectorRecipe,
    trained_on: int,
    reports: Sequence[GroupReport],
    calibration: ThresholdChoice,
    rates: dict[float, float],
) -> None:
    command = f"excise train detector --out DIR --epochs {recipe.arguments.epochs} --seed {recipe.arguments.seed}"
    command += f" --learning-rate {0 if rates else recipe.arguments.learning_rate:g} --generated {recipe.generated}"
    command += f" --most-plain {recipe.most_plain}" + (" --data DATA" if recipe.data else "")
    command += f" --batch-tokens {recipe.arguments.batch_tokens}"
    if recipe.start is not None:
        command += f" --start FIRST --rehearse {recipe.start.rehearse:g} --keep {recipe.start.keep:g}"
    else:
        command += f" --rank {recipe.config.rank} --last-layers {recipe.config.last_layers}"
        command += "" if recipe.config.encoder == "minilm" else " --backbone BASE"
    command += "" if recipe.probes else " --no-probes"
    command += "" if recipe.later else " --no-later"
    command += "".join(f" --leave-out {name}" for name in recipe.left_out)
    command += f" --recombined {recipe.recombined}" if recipe.recombined else ""
    command += " --teacher TEACHER" * len(recipe.teachers)
    command += f" --text CORPUS --sentences {recipe.sentences}" if recipe.text else ""
    rows = "\n".join("| " + " | ".join(row) + " |" for row in report_rows(reports))
    public = (
        ", and public query sets (ExcluIR queries; MS MARCO, NQ and Million Query queries; SciFact and NFCorpus\n"
        "  training queries; a fifth of each held out)"
    )
    twin = (
        "The figures below are those of a twin trained without the probe files (hard_fire, decoys, trap): nothing in\n"
        "the table was seen in training. The shipped weights were then trained on the probe files too. Some of the\n"
        "hand-written rows follow wordings that an earlier detector missed among these queries: recall may flatter it."
    )
    each = ", ".join(f"{rate:g}: {youden:.3f}" for rate, youden in rates.items())
    config, tried = recipe.config, each or "none, the rate was given"
    admissible = f"{min(calibration.admissible, default=0)} to {max(calibration.admissible, default=0)}"
    adapted = f"A rank-{config.rank} low-rank adaptation of the encoder's last {config.last_layers} layers"
    if config.rank == 0:
        adapted = f"An encoder of its own, its last {config.last_layers} layers trained, eight bits a weight,"
    others = (
        f"{recipe.recombined:,} exclusions and their partners with the topics of others, " if recipe.recombined else ""
    )
    taught = ""
    if recipe.teachers:
        bases = ", ".join(Path(read_config(folder).encoder).name for folder in recipe.teachers)
        taught = (
            f"- TEACHER: detectors trained on labels alone, on {bases}. What they say of each query together counts\n"
            f"  {recipe.arguments.lesson_weight:.0%} in what is learned, the labels have the rest.\n"
        )
    further, unseen = "", "Nothing in the table was seen in training."
    if recipe.start is not None:
        unseen = (
            f"Nothing in the table was seen in this training; {FIRST_CARD} says whether the first one saw the probes."
        )
        further = (
            f"- [FIRST]({FIRST_CARD}) was trained further, on the rows that were written later and "
            f"{recipe.start.rehearse:.0%} of the others;\n"
            f"  {recipe.start.keep:.0%} of what is written are its weights.\n"
        )
    card = f"""# Detector on {Path(config.encoder).name}

{adapted} with a head that tags tokens and one that judges the query.
It marks the words of a query that name an excluded topic, and fires above {config.threshold}.

- Command: `{command}`
{further}{taught}- Data: {trained_on:,} queries: the bundled suite's train families, hand-written pairs and decoys,
  {others}{"the probe files, " if recipe.probes else ""}generated pairs{public if recipe.data else ""}.
- Seed: {recipe.arguments.seed}. Arguments: `{json.dumps(asdict(recipe.arguments))}`
- Learning rates tried (held-out Youden's J after one pass over a sample): {tried}
- Threshold: {calibration.verdict} (spread of J {calibration.spread:.4f}, twice its standard error
  {calibration.noise:.4f}, admissible {admissible}).

{twin if recipe.probes else unseen}

| {" | ".join(REPORT_HEADER)} |
| {" | ".join("---" for _ in REPORT_HEADER)} |
{rows}
"""
    (out / "README.md").write_text(card, encoding="utf-8")
    figures = {"groups": [asdict(report) for report in reports], "calibration": asdict(calibration), "rates": rates}
    (out / "validation.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")

"""What teachers say, token by token: larger detectors, too slow to ship, judge the queries that a small one learns.

Labels say which words name an excluded topic; a teacher that read millions of other texts before also says how sure one
can be, and of queries that nobody has labelled (Hinton et al. 2015, "Distilling the knowledge in a neural network").
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from excise.errors import InvalidInput
from excise.progress import Progress, silent
from excise.training.detector.examples import Example

if TYPE_CHECKING:
    from torch import Tensor

    from excise.topics.detector import Detector

_BATCH_TOKENS = 2_048
_LEAST = 1e-6  # a chance of nothing has no logit
_LONGEST = 8  # words of a topic that may stand in for another one
_AWAY = re.compile(r"[^\w\s'\u2019&./-]")  # a topic with anything else in it is part of its sentence


class Lesson(NamedTuple):
    """What a teacher says of a query.

    Attributes
    ----------
    tags
        the chances of the three tags, for each token.
    query
        the chance that anything is excluded, read off the query as a whole.
    """

    tags: Tensor
    query: float

    @property
    def excluded(self) -> Tensor:
        """For each token the chance that it names an excluded topic."""
        return self.tags[:, 1:].sum(dim=1)


def load_teacher(folder: Path) -> Detector:
    """A detector of any size, to be asked for what it thinks of training queries."""
    from excise.topics.detector import Detector

    return Detector.to_train_on(folder)


def lessons(
    teacher: Detector, examples: Sequence[Example], max_tokens: int, progress: Progress = silent
) -> list[Lesson]:
    """What a teacher says of each example's query."""
    import torch

    from excise.encoders.batching import batches, padded
    from excise.encoders.precision import for_documents

    ids = [teacher.tokenizer.pieces(example.text, most=max_tokens).ids for example in examples]
    found: dict[int, Lesson] = {}
    teacher.tagger.eval()
    for batch in batches([len(row) for row in ids], _BATCH_TOKENS):
        with torch.inference_mode(), for_documents():
            judged = teacher.tagger(*padded([ids[i] for i in batch]))
        wholes = judged.excluded.amax(dim=1) if judged.query is None else judged.query
        for place, i in enumerate(batch):
            tags = judged.tags[place, : len(ids[i])].softmax(dim=-1)
            found[i] = Lesson(tags.clone(), float(wholes[place].sigmoid()))
        progress("asking the teacher", len(found), len(examples))
    return [found[i] for i in range(len(examples))]


def agreed(said: Sequence[Sequence[Lesson]]) -> list[Lesson]:
    """What several teachers say of each query together: the mean of their logits.

    Examples
    --------
    >>> import torch
    >>> sure, unsure = Lesson(torch.tensor([[0.1, 0.9, 0.0]]), 0.9), Lesson(torch.tensor([[0.9, 0.1, 0.0]]), 0.1)
    >>> both = agreed([[sure], [unsure]])[0]
    >>> [round(chance, 2) for chance in both.tags[0].tolist()], round(both.query, 2)
    ([0.5, 0.5, 0.0], 0.5)
    """
    import torch

    if len(said) == 1:
        return list(said[0])
    together = []
    for own in zip(*said, strict=True):
        tags = torch.stack([lesson.tags.clamp_min(_LEAST).log() for lesson in own]).mean(dim=0).softmax(dim=-1)
        query = torch.tensor([lesson.query for lesson in own]).logit(eps=_LEAST).mean().sigmoid()
        together.append(Lesson(tags, float(query)))
    return together


def check_same_words(teacher: Detector, student: Detector, text: str) -> None:
    """A lesson is about tokens: both must cut a text alike.

    Raises
    ------
    InvalidInput
        where they do not.
    """
    theirs, own = (one.tokenizer.pieces(text).spans.tolist() for one in (teacher, student))
    if theirs != own:
        raise InvalidInput(
            "a teacher and what learns from it must cut words alike: use bases with the same vocabulary of word pieces."
        )


def recombined(examples: Sequence[Example], number: int, seed: int, others: Iterable[str] = ()) -> list[Example]:
    """Exclusions and their partners with other topics in the same places.

    Whether something is ruled out hardly depends on what it is. A topic takes the place of another one wherever that
    one stands, in both queries of a pair.

    Parameters
    ----------
    examples
        queries with their partners.
    number
        how many exclusions to make, at most.
    seed
        of what is chosen.
    others
        names that may take a topic's place beside the topics of the examples: half of the places, where there are any.

    Examples
    --------
    >>> rows = [
    ...     Example("tea, not Earl Grey", ((9, 18),), "w", "explicit", pair="1"),
    ...     Example("why Earl Grey is not tea", (), "w", "partner", pair="1"),
    ...     Example("cars without ABS", ((13, 16),), "w", "explicit", pair="2"),
    ...     Example("cars with ABS", (), "w", "partner", pair="2"),
    ... ]
    >>> [(row.text, row.spans) for row in recombined(rows, 1, seed=0)]
    [('tea, not ABS', ((9, 12),)), ('why ABS is not tea', ())]
    """
    chooser = random.Random(f"{seed} recombined")
    partners = {row.pair: row for row in examples if row.pair and not row.fires}
    exclusions = [row for row in examples if row.fires and row.pair in partners]
    names = [name for row in exclusions for name in _names(row)]
    foreign = sorted({name for name in others if _stands_alone(name)})
    pools = [names, foreign] if foreign else [names]
    chooser.shuffle(exclusions)
    made: list[Example] = []
    for row in exclusions:
        if len(made) >= 2 * number:
            break
        own = _names(row)
        if len(own) < len(row.spans):
            continue
        changed = {name.casefold(): _another(chooser, pools, own) for name in own}
        for query in (row, partners[row.pair]):
            made.append(_with_topics(query, changed))
    return made


def _another(chooser: random.Random, pools: Sequence[Sequence[str]], own: Sequence[str]) -> str:
    """A name that is none of a query's own, where chance finds one."""
    taken = {name.casefold() for name in own}
    drawn = (chooser.choice(chooser.choice(pools)) for _ in range(10))
    return next((name for name in drawn if name.casefold() not in taken), own[0])


def _names(row: Example) -> list[str]:
    """The topics of a query that may stand elsewhere."""
    topics = [row.text[start:end] for start, end in row.spans]
    return [topic for topic in topics if _stands_alone(topic)]


def _stands_alone(name: str) -> bool:
    return 0 < len(name.split()) <= _LONGEST and not _AWAY.search(name)


def _with_topics(row: Example, others: dict[str, str]) -> Example:
    """The query with other topics wherever the old ones stand as whole words."""
    longest_first = sorted(others, key=len, reverse=True)
    places = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)
    text, end = "", 0
    spans: list[tuple[int, int]] = []
    for match in places.finditer(row.text):
        text += row.text[end : match.start()]
        new, end = others.get(match.group().casefold(), match.group()), match.end()
        if match.span() in row.spans:
            spans.append((len(text), len(text) + len(new)))
        text += new
    return replace(row, text=text + row.text[end:], spans=tuple(spans), source="recombined", pair=f"other {row.pair}")

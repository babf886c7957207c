"""Contrastive minimal pairs from frames and subjects: the same topics, once excluded and once not.

The paper's device: "A and B but not C" against "A and B and C". The two members share their words, so neither the topic
nor the cue alone tells the label. Frames and subjects are ours, in ``data/detector/frames.json``.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class MinimalPair:
    """An exclusion query, its topics, and its partner that excludes nothing."""

    fire: str
    topics: tuple[str, ...]
    nofire: str
    form: str


def minimal_pairs(pairs: int, seed: int) -> Iterator[MinimalPair]:
    """Make minimal pairs: every frame and every subject about equally often, cases and typos varied.

    Examples
    --------
    >>> first = next(minimal_pairs(1, seed=0))
    >>> all(topic in first.fire for topic in first.topics)
    True
    """
    chooser = random.Random(seed)
    inventory = json.loads((files("excise") / "data" / "detector" / "frames.json").read_text(encoding="utf-8"))
    frames: list[dict[str, Any]] = inventory["frames"]
    subjects = list(inventory["subjects"].items())
    for number in range(pairs):
        frame = frames[number % len(frames)]
        wanted, topics = chooser.choice(subjects)
        chosen = chooser.sample(topics, 3)
        names = {"x": wanted, "z": chosen[0], "y": chosen[1], "w": chosen[2]}
        fire, nofire = frame["fire"].format(**names), frame["nofire"].format(**names)
        excluded = [names[key] for key in "zyw" if key in frame["excludes"]]
        style = chooser.random()
        if style < 0.35:
            fire, nofire, excluded = fire.lower(), nofire.lower(), [topic.lower() for topic in excluded]
        elif style < 0.6:
            fire, nofire = fire[0].upper() + fire[1:], nofire[0].upper() + nofire[1:]
            excluded = [topic if topic in fire else topic[0].upper() + topic[1:] for topic in excluded]
        yield MinimalPair(fire, tuple(excluded), nofire, frame["form"])

"""Words that mark an exclusion: what T2 must do without, and what T1 and T3 must have."""

from __future__ import annotations

import re
from typing import Literal

Tier = Literal["T1", "T2", "T3"]
TIERS: tuple[Tier, ...] = ("T1", "T2", "T3")

STRICT_CUES = (
    "not", "without", "except", "excluding", "other than", "apart from", "aside from", "besides", "neither", "nor",
    "rather than", "-free",
)  # fmt: skip
"""The paper's cue list: forbidden in T2."""

FURTHER_CUES = (
    "no", "none", "nothing", "never", "n't", "cannot", "minus", "instead of", "exclude", "excludes", "excluded",
    "excepting", "barring", "save for", "omit", "omitting", "leave out", "leaving out", "avoid", "avoiding",
)  # fmt: skip
"""Other explicit wordings: they count as a cue in T1 and T3, and are pointed out in T2."""

_OPERATOR = re.compile(r"(?<!\S)-(?=[^\W\d_\"])|(?<!\S)-(?=\")|\bNOT\b")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-"})  # typeset forms


def _pattern(cues: tuple[str, ...]) -> re.Pattern[str]:
    parts = []
    for cue in cues:
        words = r"\s+".join(re.escape(word) for word in cue.split())
        start = "" if not cue[0].isalnum() or cue == "n't" else r"\b"
        parts.append(f"{start}{words}\\b")
    return re.compile("|".join(parts), re.IGNORECASE)


_STRICT, _FURTHER = _pattern(STRICT_CUES), _pattern(FURTHER_CUES)


def strict_cues(query: str) -> list[str]:
    """The words of the strict list that a query uses.

    Examples
    --------
    >>> strict_cues("Sugar-free drinks that are neither cola nor tea")
    ['-free', 'neither', 'nor']
    >>> strict_cues("Notable drinks, cola already covered")
    []
    """
    return [found.group().lower() for found in _STRICT.finditer(query.translate(_APOSTROPHES))]


def explicit_cues(query: str) -> list[str]:
    """Everything that states an exclusion openly: strict cues, further wordings, and search operators.

    Examples
    --------
    >>> explicit_cues("cars that aren't Teslas"), explicit_cues("cars -tesla"), explicit_cues("long-term car tests")
    (["n't"], ['-'], [])
    """
    text = query.translate(_APOSTROPHES)
    further = [found.group().lower() for found in _FURTHER.finditer(text)]
    return strict_cues(query) + further + [found.group() for found in _OPERATOR.finditer(text)]


def cue_problem(tier: str, query: str) -> str | None:
    """What a query's cues have against its tier, as a sentence; None where they fit.

    Examples
    --------
    >>> cue_problem("T2", "cars, but not Tesla")
    'an implicit query must have no cue, and has: not'
    >>> cue_problem("T1", "cars, Tesla already covered")
    'an explicit exclusion must have a cue, and has none'
    >>> cue_problem("T3", "cars, but not Tesla; China I know")
    """
    if tier == "T2" and (found := strict_cues(query)):
        return f"an implicit query must have no cue, and has: {', '.join(found)}"
    if tier in ("T1", "T3") and not explicit_cues(query):
        return "an explicit exclusion must have a cue, and has none"
    return None

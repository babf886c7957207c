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
"""The paper's cue list."""

FORBIDDEN_IN_IMPLICIT = (*STRICT_CUES, "no", "never", "instead")
"""What an implicit query must do without: the paper's list, and three words that say the same as openly."""

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
        numbered = r"(?!\.?\s*\d)" if cue == "no" else ""  # "Regulation (EU) No 575/2013" rules nothing out
        parts.append(f"{start}{words}\\b{numbered}")
    return re.compile("|".join(parts), re.IGNORECASE)


_STRICT, _FURTHER, _FORBIDDEN = _pattern(STRICT_CUES), _pattern(FURTHER_CUES), _pattern(FORBIDDEN_IN_IMPLICIT)
_OPEN = re.compile(f"{_STRICT.pattern}|{_FURTHER.pattern}", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.!?;:]\s")
_REACH = 6  # words that may stand between a cue and what it rules out


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
    >>> explicit_cues("no Regulation (EU) No 575/2013, nor No. 5")
    ['nor', 'no']
    """
    text = query.translate(_APOSTROPHES)
    further = [found.group().lower() for found in _FURTHER.finditer(text)]
    return strict_cues(query) + further + [found.group() for found in _OPERATOR.finditer(text)]


def forbidden_in_implicit(query: str) -> list[str]:
    """The words of a query that an implicit one must do without.

    Examples
    --------
    >>> forbidden_in_implicit("Never cola again; tea instead"), forbidden_in_implicit("tea, as I know all about cola")
    (['never', 'instead'], [])
    """
    return [found.group().lower() for found in _FORBIDDEN.finditer(query.translate(_APOSTROPHES))]


def openly_ruled_out(query: str, start: int) -> bool:
    """The cue test: whether a cue stands a few words before a place in a query, in the same clause.

    Parameters
    ----------
    query
        what the user types.
    start
        where the topic begins in it.

    Examples
    --------
    >>> openly_ruled_out("cars other than the Tesla", 20), openly_ruled_out("Tesla cars, not in red", 0)
    (True, False)
    >>> openly_ruled_out("cars -tesla", 6), openly_ruled_out("not red. Tesla", 9)
    (True, False)
    """
    before = query[:start].translate(_APOSTROPHES)
    clause = _CLAUSE_END.split(before)[-1]
    if clause.endswith(("-", '-"')):
        return bool(_OPERATOR.search(query.translate(_APOSTROPHES), max(0, start - 2)))
    ends = [found.end() for found in _OPEN.finditer(clause)]
    return bool(ends) and len(clause[ends[-1] :].split()) <= _REACH


def cue_problem(tier: str, query: str) -> str | None:
    """What a query's cues have against its tier, as a sentence; None where they fit.

    Examples
    --------
    >>> cue_problem("T2", "cars, but not Tesla")
    'an implicit query must have no cue, and has: not'
    >>> cue_problem("T2", "cars, Tesla being no news to me")
    'an implicit query must have no cue, and has: no'
    >>> cue_problem("T1", "cars, Tesla already covered")
    'an explicit exclusion must have a cue, and has none'
    >>> cue_problem("T3", "cars, but not Tesla; China I know")
    """
    if tier == "T2" and (found := forbidden_in_implicit(query)):
        return f"an implicit query must have no cue, and has: {', '.join(found)}"
    if tier in ("T1", "T3") and not explicit_cues(query):
        return "an explicit exclusion must have a cue, and has none"
    return None

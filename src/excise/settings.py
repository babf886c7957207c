"""How the operator works: which rule, with which constants, on which vectors. Presets name whole configurations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from excise.errors import InvalidInput
from excise.rules.coverage import Coverage
from excise.rules.paper import Constants
from excise.vectors.maxsim import POOLINGS, Pooling

Rule = Literal["coverage", "paper"]
Scoring = Literal["full", "masked"]
DEFAULT = "default"


@dataclass(frozen=True)
class Settings:
    """What can be changed about the operator.

    Parameters
    ----------
    rule
        "coverage" removes all that covers the topic (:mod:`excise.rules.coverage`); "paper" is its Algorithm 1.
    constants, coverage
        the constants of the two rules.
    pooling
        how evidence is pooled over topic tokens: "mean", "max", "top-m" or "per-topic".
    scoring
        "full" ranks by the whole query; "masked" leaves the topics' own words out of it.
    reembed, reembed_first
        re-embed the query, the topics and the shortlist with the exclusion adapter before they are judged; of the
        shortlist only so many candidates, in frozen order (the others are judged by their vectors in the index).
    two_readings
        the coverage rule ranks by two readings of the query: the backbone's and, where there is one for the backbone,
        the adapter's, both held against the vectors of the index. Without effect where documents are re-embedded.
    second_look
        also search with the query less its topics, and judge the union.
    """

    rule: Rule = "coverage"
    constants: Constants = field(default_factory=Constants)
    coverage: Coverage = field(default_factory=Coverage)
    pooling: Pooling = "per-topic"
    scoring: Scoring = "masked"
    reembed: bool = False
    reembed_first: int = 100
    two_readings: bool = True
    second_look: bool = False

    def __post_init__(self) -> None:
        if self.rule not in ("coverage", "paper"):
            raise InvalidInput(f"rule must be 'coverage' or 'paper', got {self.rule!r}.")
        if self.scoring not in ("full", "masked"):
            raise InvalidInput(f"scoring must be 'full' or 'masked', got {self.scoring!r}.")
        if self.pooling not in POOLINGS:
            raise InvalidInput(f"unknown pooling {self.pooling!r}; choose one of {', '.join(POOLINGS)}.")
        first = self.reembed_first
        if isinstance(first, bool) or not isinstance(first, int) or first < 1:
            raise InvalidInput(f"reembed_first must be a whole number of at least 1, got {first!r}.")

    @property
    def uses_adapter(self) -> bool:
        """Whether the exclusion adapter has a part in this."""
        return self.reembed or (self.two_readings and self.rule == "coverage" and self.scoring == "masked")

    @property
    def shortlist(self) -> int:
        """How many candidates are judged."""
        return self.coverage.shortlist if self.rule == "coverage" else self.constants.shortlist

    @property
    def evidence_floor(self) -> float:
        """The evidence below which nothing is demoted."""
        return self.coverage.evidence_floor if self.rule == "coverage" else self.constants.evidence_floor

    def as_dict(self) -> dict[str, Any]:
        """Plain types, for reports."""
        rule = self.coverage if self.rule == "coverage" else self.constants
        names = ("rule", "pooling", "scoring", "reembed", "reembed_first", "two_readings", "second_look")
        return {**{name: getattr(self, name) for name in names}, "constants": rule.as_dict()}


PAPER_RULE = Settings("paper", pooling="mean", scoring="full")
PRESETS = {
    DEFAULT: Settings(),
    "paper": replace(PAPER_RULE, reembed=True),
    "frozen-paper": PAPER_RULE,
}


def resolve(
    preset: str | None = None,
    constants: Constants | None = None,
    pooling: Pooling | None = None,
    scoring: Scoring | None = None,
    reembed: bool | None = None,
    second_look: bool | None = None,
    *,
    reembed_first: int | None = None,
    two_readings: bool | None = None,
) -> Settings:
    """Settings from a preset and what is changed about it. Naming the paper's constants alone chooses its rule.

    Examples
    --------
    >>> resolve().rule, resolve("paper").reembed, resolve(constants=Constants(removal_cap=1)).rule
    ('coverage', True, 'paper')
    >>> resolve("best")
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: unknown preset 'best'; choose one of default, paper, frozen-paper.
    """
    name = preset or (DEFAULT if constants is None else "frozen-paper")
    if name not in PRESETS:
        raise InvalidInput(f"unknown preset {name!r}; choose one of {', '.join(PRESETS)}.")
    if constants is not None and PRESETS[name].rule != "paper":
        raise InvalidInput(f"constants are those of the paper's rule, and the preset {name!r} does not use it.")
    given: dict[str, Any] = {
        "constants": constants,
        "pooling": pooling,
        "scoring": scoring,
        "reembed": reembed,
        "reembed_first": reembed_first,
        "two_readings": two_readings,
        "second_look": second_look,
    }
    return replace(PRESETS[name], **{key: value for key, value in given.items() if value is not None})

"""How the operator works: which rule, with which constants, on which vectors. Presets name whole configurations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from excise.errors import InvalidInput
from excise.rules.coverage import Coverage
from excise.rules.paper import Constants
from excise.vectors.maxsim import POOLINGS, Pooling

Rule = Literal["coverage", "paper"]
RULES: tuple[Rule, ...] = get_args(Rule)
Scoring = Literal["full", "masked"]
DEFAULT = "default"


@dataclass(frozen=True)
class Settings:
    """What can be changed about the operator.

    Parameters
    ----------
    rule
        "coverage" removes what surely covers the topic, by a calibrated probability (:mod:`excise.rules.coverage`);
        "paper" is its Algorithm 1.
    constants, coverage
        the constants of the paper's rule and of the coverage rule.
    pooling
        how the paper's rule pools evidence over topic tokens: "mean", "max", "top-m" or "per-topic".
    scoring
        "full" ranks by the whole query; "masked" by the residual query, which leaves the topics' own words out.
    whole_query
        the share of the whole query, topics and all, in the scores that the coverage rule ranks by where scoring is
        "masked".
    reembed, reembed_first
        re-embed the query, the topics and the shortlist with the exclusion adapter before they are judged; of the
        shortlist only so many candidates, in frozen order (the others are judged by their vectors in the index).
    adapter_fusion
        the coverage rule ranks by the mean of two readings of the residual query, the backbone's and, where there is
        one for the backbone, the adapter's, both held against the vectors of the index. Without effect where documents
        are re-embedded.
    word_share, mean_share
        in what the coverage rule ranks by, the share of the residual query's words as such (BM25 within the shortlist),
        and that of what documents are about as a whole (cosines of mean vectors). The rest is MaxSim's.
    second_look
        also search with the residual query, and judge the union.
    fire_threshold
        how sure the detector must be that anything is excluded, from 0 to 1; None takes the detector's own threshold.
    """

    rule: Rule = "coverage"
    constants: Constants = field(default_factory=Constants)
    coverage: Coverage = field(default_factory=Coverage)
    pooling: Pooling = "per-topic"
    scoring: Scoring = "masked"
    whole_query: float = 0.0
    reembed: bool = False
    reembed_first: int = 100
    adapter_fusion: bool = True
    word_share: float = 0.2
    mean_share: float = 0.2
    second_look: bool = False
    fire_threshold: float | None = None

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise InvalidInput(f"rule must be one of {', '.join(RULES)}, got {self.rule!r}.")
        if self.scoring not in ("full", "masked"):
            raise InvalidInput(f"scoring must be 'full' or 'masked', got {self.scoring!r}.")
        if self.pooling not in POOLINGS:
            raise InvalidInput(f"unknown pooling {self.pooling!r}; choose one of {', '.join(POOLINGS)}.")
        for name in ("whole_query", "word_share", "mean_share"):
            share = getattr(self, name)
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
                raise InvalidInput(f"{name} must be a number from 0 to 1, got {share!r}.")
        if self.word_share + self.mean_share > 1:
            raise InvalidInput(
                f"word_share and mean_share must not be more than 1 together, got {self.word_share:g} and "
                f"{self.mean_share:g}."
            )
        first, fires = self.reembed_first, self.fire_threshold
        if isinstance(first, bool) or not isinstance(first, int) or first < 1:
            raise InvalidInput(f"reembed_first must be a whole number of at least 1, got {first!r}.")
        if fires is not None and (isinstance(fires, bool) or not isinstance(fires, int | float) or not 0 <= fires <= 1):
            raise InvalidInput(f"fire_threshold must be a number from 0 to 1, got {fires!r}.")

    def with_caution(self, caution: float) -> Settings:
        """The same, but so sure before a candidate is removed. What is less sure than that is demoted at most.

        Whoever asks for less caution than these settings have gets it everywhere: the best answers to the rest of the
        query go from there on, too.

        Examples
        --------
        >>> resolve().with_caution(0.9).coverage.caution
        0.9
        >>> resolve().with_caution(0.2).coverage.certain
        0.2
        """
        if self.rule != "coverage":
            raise InvalidInput("how sure to be before a removal is a setting of the coverage rule, not of the paper's.")
        own = self.coverage
        less = isinstance(caution, int | float) and caution < own.caution
        doubt, certain = (min(own.doubt, caution), caution) if less else (own.doubt, own.certain)
        return replace(self, coverage=replace(own, caution=caution, doubt=doubt, certain=certain))

    @property
    def uses_adapter(self) -> bool:
        """Whether the exclusion adapter has a part in this."""
        return self.reembed or (self.adapter_fusion and self.rule != "paper" and self.scoring == "masked")

    @property
    def shortlist(self) -> int:
        """How many candidates are judged."""
        return self.rule_constants.shortlist

    @property
    def evidence_floor(self) -> float:
        """Below it nothing is demoted: evidence under the paper's rule, a probability under the coverage rule."""
        return self.constants.evidence_floor if self.rule == "paper" else self.coverage.doubt

    @property
    def rule_constants(self) -> Coverage | Constants:
        """The constants of the rule that is chosen."""
        return self.constants if self.rule == "paper" else self.coverage

    def as_dict(self) -> dict[str, Any]:
        """Plain types, for reports."""
        names = ("rule", "pooling", "scoring", "whole_query", "reembed", "reembed_first", "adapter_fusion")
        plain = {
            name: getattr(self, name) for name in (*names, "word_share", "mean_share", "second_look", "fire_threshold")
        }
        return {**plain, "constants": self.rule_constants.as_dict()}


PAPER_RULE = Settings("paper", pooling="mean", scoring="full")
PRESETS = {
    DEFAULT: Settings(),
    "cautious": Settings().with_caution(0.8),
    "paper": replace(PAPER_RULE, reembed=True),
    "frozen-paper": PAPER_RULE,
}


def resolve(settings: Settings | str | None = None, caution: float | None = None, **changes: Any) -> Settings:
    """Settings from a preset's name (or from settings), and what is changed about it; a change to None is no change.

    ``caution`` is how sure to be before a candidate is removed (:meth:`Settings.with_caution`).

    Examples
    --------
    >>> resolve().rule, resolve("paper").reembed, resolve("frozen-paper", reembed_first=None).rule
    ('coverage', True, 'paper')
    >>> resolve(caution=0.9).coverage.caution
    0.9
    >>> resolve("best")
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: unknown preset 'best'; choose one of default, cautious, paper, frozen-paper.
    >>> resolve(speed=9)
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: there is no setting 'speed'; there are rule, constants, coverage, pooling, \
scoring, whole_query, reembed, reembed_first, adapter_fusion, word_share, mean_share, second_look, fire_threshold.
    """
    if isinstance(settings, str) and settings not in PRESETS:
        raise InvalidInput(f"unknown preset {settings!r}; choose one of {', '.join(PRESETS)}.")
    base = PRESETS[settings or DEFAULT] if settings is None or isinstance(settings, str) else settings
    if not isinstance(base, Settings):
        raise InvalidInput(f"settings must be Settings or the name of a preset, got {type(base).__name__}.")
    known = Settings.__dataclass_fields__
    for name in changes:
        if name not in known:
            raise InvalidInput(f"there is no setting {name!r}; there are {', '.join(known)}.")
    changed = replace(base, **{name: value for name, value in changes.items() if value is not None})
    return changed if caution is None else changed.with_caution(caution)

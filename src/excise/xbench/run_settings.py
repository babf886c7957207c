"""Settings of a run by name: from the command line or a file, over what the run was called with before.

Requests are known by a hash of everything in them, so a call that reads answers must have the settings of the call that
wrote the requests: they are kept in the run and used again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from excise.xbench.checking import checked_settings
from excise.xbench.cues import TIERS, Tier
from excise.xbench.gates import DEPTH
from excise.xbench.gating import GateSettings
from excise.xbench.grading import GradingSettings
from excise.xbench.prompts import versions
from excise.xbench.records import LENGTHS, Length
from excise.xbench.requests import Model
from excise.xbench.storage import XBenchError
from excise.xbench.verdicts import JudgingSettings
from excise.xbench.writing import WritingSettings

_Options = TypeVar("_Options", "WriterOptions", "JudgeOptions", "GraderOptions")


@dataclass(frozen=True)
class WriterOptions:
    """The settings of writing. An empty ``verify_model`` is the writer itself.

    ``bm25_share`` and ``maxsim_share`` are those of the difficulty gate, which is asked before anything is rewritten.
    """

    model: str = ""
    temperature: float = 0.8
    max_tokens: int = 1_600
    json_mode: str = "object"
    verify_model: str = ""
    lengths: tuple[Length, ...] = LENGTHS
    tiers: tuple[Tier, ...] = TIERS
    disjunctive: float = 0.5
    document_words: int = 1_500
    seed: int = 0
    together: int = 8
    bm25_share: float = 0.5
    maxsim_share: float = 0.8

    def settings(self) -> WritingSettings:
        """What the writing works with."""
        verifier = Model(self.verify_model, 0.0, self.max_tokens, self.json_mode) if self.verify_model else None
        writer = Model(self.model, self.temperature, self.max_tokens, self.json_mode)
        return WritingSettings(
            writer,
            verifier,
            self.lengths,
            self.tiers,
            self.disjunctive,
            self.document_words,
            self.seed,
            self.together,
        )

    def gates(self) -> GateSettings:
        """What the gates that need no model ask for before anything is rewritten."""
        return GateSettings(bm25_share=self.bm25_share, maxsim_share=self.maxsim_share)

    def to_dict(self) -> dict[str, Any]:
        """What is kept of them, and which prompts were used."""
        lists = {"lengths": list(self.lengths), "tiers": list(self.tiers)}
        return {**asdict(self), **lists, "prompts": versions()}


@dataclass(frozen=True)
class JudgeOptions:
    """The settings of judging."""

    model: str = ""
    temperature: float = 0.0
    max_tokens: int = 600
    json_mode: str = "object"
    document_words: int = 1_500
    together: int = 8
    t1_sample: float = 0.2

    def judge(self) -> Model:
        """The model that judges."""
        return Model(self.model, self.temperature, self.max_tokens, self.json_mode)

    def settings(self) -> JudgingSettings:
        """What the judging works with."""
        return JudgingSettings(self.judge(), self.document_words, self.together, self.t1_sample)

    def to_dict(self) -> dict[str, Any]:
        """What is kept of them."""
        return asdict(self)


@dataclass(frozen=True)
class GraderOptions:
    """The settings of grading. Without a ``model`` the judge grades."""

    model: str = ""
    temperature: float = 0.0
    max_tokens: int = 300
    json_mode: str = "object"
    document_words: int = 250
    depth: int = DEPTH
    documents: int = 10

    def settings(self) -> GradingSettings:
        """What the grading works with."""
        grader = Model(self.model, self.temperature, self.max_tokens, self.json_mode)
        return GradingSettings(grader, self.depth, self.documents, self.document_words)

    def to_dict(self) -> dict[str, Any]:
        """What is kept of them."""
        return asdict(self)


def merged(kind: type[_Options], before: Mapping[str, Any], given: Mapping[str, Any], who: str) -> _Options:
    """Defaults, then what the run had before, then what is given now; None stands for not given.

    Examples
    --------
    >>> merged(JudgeOptions, {"model": "b"}, {"max_tokens": 50, "temperature": None}, "judge").max_tokens
    50
    >>> merged(JudgeOptions, {}, {"modle": "b"}, "judge")
    Traceback (most recent call last):
        ...
    excise.xbench.storage.XBenchError: the judge has no setting 'modle'; it has model, temperature, max_tokens, \
json_mode, document_words, together, t1_sample.
    """
    known = {name: value for name, value in before.items() if name in option_names(kind)}
    now = {name: value for name, value in given.items() if value is not None}
    options = checked_settings(kind, {**known, **now}, f"the {who}")
    if not options.model:
        raise XBenchError(f"name the model that is the {who}: --model NAME.")
    return options


def option_names(kind: type[WriterOptions | JudgeOptions | GraderOptions]) -> tuple[str, ...]:
    """What can be set."""
    return tuple(field.name for field in fields(kind))

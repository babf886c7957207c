"""Settings of a run by name: from the command line or a file, over what the run was called with before.

Requests are known by a hash of everything in them, so a call that reads answers must have the settings of the call that
wrote the requests: they are kept in the run and used again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar, cast

from excise.xbench.cues import TIERS
from excise.xbench.prompts import versions
from excise.xbench.records import LENGTHS
from excise.xbench.requests import Model
from excise.xbench.storage import XBenchError
from excise.xbench.writing import WritingSettings

_Kind = TypeVar("_Kind")

WRITER: dict[str, Any] = {
    "model": "",
    "temperature": 0.8,
    "max_tokens": 400,
    "json_mode": "object",
    "verify_model": "",
    "lengths": list(LENGTHS),
    "tiers": list(TIERS),
    "disjunctive": 0.5,
    "document_words": 300,
    "seed": 0,
}
"""The settings of writing, with their defaults. An empty ``verify_model`` is the writer itself."""

JUDGE: dict[str, Any] = {
    "model": "",
    "temperature": 0.0,
    "max_tokens": 100,
    "json_mode": "object",
    "document_words": 300,
}
"""The settings of judging, with their defaults."""


def merged(
    defaults: Mapping[str, Any], before: Mapping[str, Any], given: Mapping[str, Any], who: str
) -> dict[str, Any]:
    """Defaults, then what the run had before, then what is given now; None stands for not given.

    Examples
    --------
    >>> merged(JUDGE, {"model": "b"}, {"max_tokens": 50}, "judge")["max_tokens"]
    50
    >>> merged(JUDGE, {}, {"modle": "b"}, "judge")
    Traceback (most recent call last):
        ...
    excise.xbench.storage.XBenchError: the judge has no setting 'modle'; it has model, temperature, max_tokens, \
json_mode, document_words.
    """
    for name, value in given.items():
        if name not in defaults:
            raise XBenchError(f"the {who} has no setting {name!r}; it has {', '.join(defaults)}.")
        _check_kind(name, value, defaults[name])
    known = {name: value for name, value in before.items() if name in defaults}
    values = {**defaults, **known, **{name: value for name, value in given.items() if value is not None}}
    if not values["model"]:
        raise XBenchError(f"name the model that is the {who}: --model NAME.")
    return values


def writing_settings(before: Mapping[str, Any], given: Mapping[str, Any]) -> WritingSettings:
    """The settings of a call to write."""
    values = merged(WRITER, before, given, "writer")
    for name, allowed in (("lengths", LENGTHS), ("tiers", TIERS)):
        strange = [item for item in values[name] if item not in allowed]
        if strange:
            raise XBenchError(f"{strange[0]!r} is none of the {name} {', '.join(allowed)}.")
    writer = _model(values)
    verifier = (
        Model(values["verify_model"], 0.0, writer.max_tokens, writer.json_mode) if values["verify_model"] else None
    )
    return WritingSettings(
        writer=writer,
        verifier=verifier,
        lengths=tuple(values["lengths"]),
        tiers=tuple(values["tiers"]),
        disjunctive=values["disjunctive"],
        document_words=values["document_words"],
        seed=values["seed"],
    )


def stored_writing(settings: WritingSettings) -> dict[str, Any]:
    """What is kept of the settings of writing, and which prompts were used."""
    return {
        **_stored_model(settings.writer),
        "verify_model": settings.verifier.name if settings.verifier else "",
        "lengths": list(settings.lengths),
        "tiers": list(settings.tiers),
        "disjunctive": settings.disjunctive,
        "document_words": settings.document_words,
        "seed": settings.seed,
        "prompts": versions(),
    }


def judge_settings(before: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[Model, int]:
    """The judge, and how many words of a document it is shown."""
    values = merged(JUDGE, before, given, "judge")
    return _model(values), values["document_words"]


def stored_judge(judge: Model, document_words: int) -> dict[str, Any]:
    """What is kept of the settings of judging."""
    return {**_stored_model(judge), "document_words": document_words}


def _model(values: Mapping[str, Any]) -> Model:
    return Model(values["model"], values["temperature"], values["max_tokens"], values["json_mode"])


def _stored_model(model: Model) -> dict[str, Any]:
    settings = {"temperature": model.temperature, "max_tokens": model.max_tokens, "json_mode": model.json_mode}
    return {"model": model.name, **settings}


def dataclass_of(kind: type[_Kind], values: Mapping[str, Any], where: str) -> _Kind:
    """A dataclass of settings from a table of a configuration file.

    Examples
    --------
    >>> from excise.xbench.mining import Band
    >>> dataclass_of(Band, {"loosen": 0.1}, "mine")
    Band(low=0.99, high=0.9999, absolute=False, loosen=0.1)
    """
    known = {field.name: field.default for field in fields(cast(Any, kind))}
    for name, value in values.items():
        if name not in known:
            raise XBenchError(f"[{where}] has no setting {name!r}; it has {', '.join(known)}.")
        _check_kind(f"[{where}] {name}", value, known[name])
    return kind(**values)


def _check_kind(name: str, value: Any, like: Any) -> None:
    """Whether a value is of the kind that its default is of."""
    if value is None or not isinstance(like, bool | int | float | str | list):
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = number if isinstance(like, float) else type(value) is type(like)
    if not fits:
        raise XBenchError(f"{name} must be like {like!r}, got {value!r}.")

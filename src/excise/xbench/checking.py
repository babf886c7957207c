"""Records and settings as they come from files: checked against the types of their dataclass, refused in a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from excise.errors import ExciseError
from excise.xbench.storage import XBenchError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_Kind = TypeVar("_Kind")


def checked_record(kind: type[_Kind], content: Mapping[str, Any], where: str, name: str) -> _Kind:
    """A dataclass from a line of a file; fields that it does not have are passed over.

    Parameters
    ----------
    kind
        the dataclass.
    content
        the JSON object.
    where, name
        the line, and what it should be, for the sentence.

    Examples
    --------
    >>> from excise.xbench.records import MinedPair
    >>> checked_record(MinedPair, {"id": "p1", "gold": 3}, "pairs.jsonl, line 4", "pair")
    Traceback (most recent call last):
        ...
    excise.xbench.storage.XBenchError: pairs.jsonl, line 4: the field 'gold' of a pair cannot be 3.
    """
    problem = _validated(kind, content)
    if not isinstance(problem, _Problem):
        return problem
    if problem.missing:
        raise XBenchError(f"{where}: a {name} needs the field {problem.field!r}.")
    raise XBenchError(f"{where}: the field {problem.field!r} of a {name} cannot be {problem.value!r}.")


def checked_settings(kind: type[_Kind], values: Mapping[str, Any], who: str, before: str = "") -> _Kind:
    """A dataclass of settings by name; those left out have their defaults.

    Parameters
    ----------
    kind
        the dataclass.
    values
        plain types, paths and other dataclasses.
    who
        whose settings these are, for the sentence.
    before
        what a setting's name is written behind, such as "[mine] ".

    Examples
    --------
    >>> from excise.xbench.mining import Band
    >>> checked_settings(Band, {"loosen": 0.1}, "[mine]")
    Band(low=0.99, high=0.9999, absolute=False, loosen=0.1)
    >>> checked_settings(Band, {"lo": 0.1}, "[mine]")
    Traceback (most recent call last):
        ...
    excise.xbench.storage.XBenchError: [mine] has no setting 'lo'; it has low, high, absolute, loosen.
    >>> checked_settings(Band, {"low": "much"}, "[mine]", "[mine] ")
    Traceback (most recent call last):
        ...
    excise.xbench.storage.XBenchError: [mine] low must be like 0.99, got 'much'.
    """
    defaults = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    strange = [name for name in values if name not in defaults]
    if strange:
        raise XBenchError(f"{who} has no setting {strange[0]!r}; it has {', '.join(defaults)}.")
    problem = _validated(kind, values)
    if not isinstance(problem, _Problem):
        return problem
    if problem.allowed:
        raise XBenchError(f"{problem.value!r} is none of the {before}{problem.field} {problem.allowed}.")
    default = defaults.get(problem.field)
    wanted = problem.wish if default is None or default is MISSING else f"be like {_plain(default)!r}"
    raise XBenchError(f"{before}{problem.field} must {wanted}, got {problem.value!r}.")


class _Problem:
    """What is wrong with one field."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        self.field = [part for part in error["loc"] if isinstance(part, str)][-1]
        self.value = error["input"]
        self.missing = error["type"] == "missing"
        self.allowed = error.get("ctx", {}).get("expected", "").replace("'", "").replace(" or ", ", ")
        self.wish = error["msg"].removeprefix("Input should ")


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _validated(kind: type[_Kind], content: Mapping[str, Any]) -> _Kind | _Problem:
    from pydantic import ValidationError

    try:
        # As JSON: there a list stands for a tuple and a text for a path, and nothing else is taken for what it is not.
        found: _Kind = _adapter(cast(Any, kind)).validate_json(json.dumps(content, default=_plain), strict=True)
    except ValidationError as problems:
        first: Mapping[str, Any] = problems.errors()[0]
        refused = first.get("ctx", {}).get("error")
        if isinstance(refused, ExciseError):  # the dataclass's own check, with its own sentence
            raise refused from None
        return _Problem(first)
    return found


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value) if isinstance(value, tuple) else value if isinstance(value, float | int | str) else str(value)

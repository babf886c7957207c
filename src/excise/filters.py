"""Filters on documents' metadata: ``{"year": {"gte": 2020}, "lang": "en"}``, read once and meant alike by every engine.

All conditions must hold. A plain value asks for equality; a mapping holds operators. Numbers compare with numbers and
dates with dates (ISO 8601, in UTC where they name no zone); a list in a document's metadata matches where one of its
elements does. A document without the field matches nothing but ``ne`` and ``{"exists": false}``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from excise.errors import InvalidInput
from excise.text import clean

Operator = Literal["eq", "ne", "in", "gt", "gte", "lt", "lte", "exists"]
Scalar = str | int | float | bool

OPERATORS: tuple[Operator, ...] = get_args(Operator)
ORDERING: tuple[Operator, ...] = ("gt", "gte", "lt", "lte")
MAX_CONDITIONS = 50
MAX_VALUES = 1_000
_FIELD = re.compile(r"[^\W][\w -]{0,99}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?)?)?")


@dataclass(frozen=True)
class Condition:
    """One demand on one field. ``value`` is a scalar, a tuple of scalars for "in", true or false for "exists"."""

    field: str
    operator: Operator
    value: Scalar | tuple[Scalar, ...]

    def holds(self, metadata: Mapping[str, Any]) -> bool:
        """Whether metadata meets it."""
        own = metadata.get(self.field)
        values = own if isinstance(own, list) else [] if own is None else [own]
        if self.operator == "exists":
            return bool(values) == self.value
        if self.operator == "ne":
            return not any(_same(one, self.value) for one in values)
        if self.operator == "eq":
            return any(_same(one, self.value) for one in values)
        if isinstance(self.value, tuple):
            return any(_same(one, wanted) for one in values for wanted in self.value)
        return any(_ordered(one, self.operator, self.value) for one in values)


@dataclass(frozen=True)
class Where:
    """What a document's metadata must be like: all conditions hold."""

    conditions: tuple[Condition, ...]

    @property
    def impossible(self) -> bool:
        """Whether nothing can match: a field is asked to be one of no values."""
        return any(condition.operator == "in" and condition.value == () for condition in self.conditions)

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Whether metadata meets every condition."""
        return all(condition.holds(metadata) for condition in self.conditions)


def read_where(where: Mapping[str, Any] | Where | None) -> Where | None:
    """A filter as a caller writes it, checked; None where it asks for nothing.

    Examples
    --------
    >>> where = read_where({"year": {"gte": 2020, "lt": 2024}, "lang": "en"})
    >>> where.matches({"year": 2021, "lang": ["en", "fr"]}), where.matches({"year": 2019, "lang": "en"})
    (True, False)
    >>> read_where({"day": {"gt": "2024-01-31"}}).matches({"day": "2024-02-01T08:00:00Z"})
    True
    >>> read_where({"year": {"above": 2020}})
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: where: unknown operator 'above' for 'year'; choose one of eq, ...
    """
    if where is None or isinstance(where, Where):
        return where
    if not isinstance(where, Mapping):
        raise InvalidInput(f"where must be a mapping of fields to values or operators, got {type(where).__name__}.")
    conditions: list[Condition] = []
    for field, wanted in where.items():
        if not isinstance(field, str) or not _FIELD.fullmatch(field):
            raise InvalidInput(
                f"where: {str(field)[:100]!r} is no field's name; letters, digits, '_', '-' and spaces are taken."
            )
        asked = wanted if isinstance(wanted, Mapping) else {"eq": wanted}
        if not asked:
            raise InvalidInput(f"where: no operator for {field!r}; choose one of {', '.join(OPERATORS)}.")
        conditions += [_condition(field, operator, value) for operator, value in asked.items()]
    if len(conditions) > MAX_CONDITIONS:
        raise InvalidInput(f"where has {len(conditions)} conditions; at most {MAX_CONDITIONS} are taken.")
    return Where(tuple(conditions)) if conditions else None


def moment(text: object) -> datetime | None:
    """The moment that a date names, as ISO 8601 writes it; None for whatever else.

    Examples
    --------
    >>> moment("2024-02-01").isoformat(), moment("soon")
    ('2024-02-01T00:00:00+00:00', None)
    """
    if not isinstance(text, str) or not _DATE.fullmatch(text):
        return None
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read


def is_number(value: object) -> bool:
    """Whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _condition(field: str, operator: Any, value: Any) -> Condition:
    if operator not in OPERATORS:
        raise InvalidInput(f"where: unknown operator {operator!r} for {field!r}; choose one of {', '.join(OPERATORS)}.")
    if operator == "exists":
        if not isinstance(value, bool):
            raise InvalidInput(f"where: 'exists' for {field!r} takes true or false, got {value!r}.")
        return Condition(field, operator, value)
    if operator == "in":
        if isinstance(value, str) or not isinstance(value, Sequence) or len(value) > MAX_VALUES:
            raise InvalidInput(f"where: 'in' for {field!r} takes a list of at most {MAX_VALUES:,} values.")
        return Condition(field, operator, tuple(_scalar(field, one) for one in value))
    scalar = _scalar(field, value)
    if operator in ORDERING and not is_number(scalar) and moment(scalar) is None:
        raise InvalidInput(
            f"where: {operator!r} for {field!r} takes a number or a date like '2024-01-31', got {value!r}."
        )
    return Condition(field, operator, scalar)


def _scalar(field: str, value: Any) -> Scalar:
    if value is None:
        raise InvalidInput(f'where: {field!r} is asked to be null; write {{"exists": false}}.')
    if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise InvalidInput(f"where: {field!r} is compared with {value!r}; texts, numbers, true and false are taken.")
    return clean(value) if isinstance(value, str) else value


def _same(own: Any, wanted: Any) -> bool:
    if is_number(own) and is_number(wanted):
        return bool(own == wanted)
    return type(own) is type(wanted) and bool(own == wanted)


def _ordered(own: Any, operator: Operator, wanted: Any) -> bool:
    if is_number(wanted):
        if not is_number(own):
            return False
        left, right = own, wanted
    else:
        left, right = moment(own), moment(wanted)
        if left is None or right is None:
            return False
    if operator == "gt":
        return bool(left > right)
    if operator == "gte":
        return bool(left >= right)
    return bool(left < right) if operator == "lt" else bool(left <= right)

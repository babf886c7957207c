"""Filters in Qdrant's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from excise.filters import Condition, Where, is_number, moment

if TYPE_CHECKING:
    from qdrant_client import models

METADATA = "meta"  # the key of a point's payload under which the document's metadata is


def alive_filter(generation: int, where: Where | None = None, *also: models.Condition) -> models.Filter:
    """The points of one generation that match."""
    from qdrant_client import models

    must: list[Any] = [
        models.FieldCondition(key="born", range=models.Range(lte=generation)),
        models.FieldCondition(key="died", range=models.Range(gt=generation)),
        *also,
    ]
    must_not: list[Any] = []
    for condition in where.conditions if where is not None else ():
        if condition.operator == "ne":
            must_not.append(_equal(condition.field, condition.value))
        elif condition.operator == "exists":
            empty = models.IsEmptyCondition(is_empty=models.PayloadField(key=_key(condition.field)))
            (must_not if condition.value else must).append(empty)
        else:
            must.append(_positive(condition))
    return models.Filter(must=must, must_not=must_not or None)


def _positive(condition: Condition) -> models.Condition:
    from qdrant_client import models

    if isinstance(condition.value, tuple):
        return models.Filter(should=[_equal(condition.field, value) for value in condition.value])
    if condition.operator == "eq":
        return _equal(condition.field, condition.value)
    bound: Any
    if is_number(condition.value):
        number: Any = {condition.operator: condition.value}
        bound = models.Range(**number)
    else:
        date: Any = {condition.operator: moment(condition.value)}
        bound = models.DatetimeRange(**date)
    return models.FieldCondition(key=_key(condition.field), range=bound)


def _equal(field: str, value: Any) -> models.Condition:
    from qdrant_client import models

    if is_number(value):  # a match takes whole numbers only, and 2020 must find 2020.0 too
        return models.FieldCondition(key=_key(field), range=models.Range(gte=value, lte=value))
    return models.FieldCondition(key=_key(field), match=models.MatchValue(value=value))


def _key(field: str) -> str:
    return f'{METADATA}."{field}"'  # quoted: a name may hold spaces

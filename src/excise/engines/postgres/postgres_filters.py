"""Filters in SQL, over a column of JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from excise.filters import Condition, Where, is_number, moment

if TYPE_CHECKING:
    from psycopg import sql

_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?)?)?$"
_ELEMENTS = "jsonb_array_elements(CASE jsonb_typeof({m}) WHEN 'array' THEN {m} ELSE jsonb_build_array({m}) END) AS e(v)"
_NUMBER = "CASE WHEN jsonb_typeof(e.v) = 'number' THEN (e.v)::numeric {sign} %s ELSE false END"
_MOMENT = (
    "CASE WHEN jsonb_typeof(e.v) = 'string' AND (e.v #>> '{{}}') ~ %s "
    "AND pg_input_is_valid(e.v #>> '{{}}', 'timestamptz') "
    "THEN (e.v #>> '{{}}')::timestamptz {sign} %s ELSE false END"
)


class SqlCondition(NamedTuple):
    """A condition with its values apart."""

    text: sql.Composed
    values: list[Any]


def sql_filter(where: Where | None) -> SqlCondition:
    """What follows the other conditions of a query over ``d``, the documents: " AND ...", or nothing."""
    from psycopg import sql

    parts: list[sql.Composable] = []
    values: list[Any] = []
    for condition in where.conditions if where is not None else ():
        text, own = _condition(condition)
        parts += [sql.SQL(" AND "), text]
        values += own
    return SqlCondition(sql.Composed(parts), values)


def _condition(condition: Condition) -> SqlCondition:
    from psycopg import sql

    field = sql.SQL("d.metadata -> {}").format(sql.Literal(condition.field))
    if condition.operator == "exists":
        there = sql.SQL("coalesce(({m}) NOT IN ('null', '[]'), false)").format(m=field)
        return SqlCondition(sql.SQL("{} = {}").format(there, sql.Literal(bool(condition.value))), [])
    elements = sql.SQL(_ELEMENTS).format(m=sql.SQL("({})").format(field))
    test, values = _test(condition)
    found = sql.SQL("EXISTS (SELECT 1 FROM {} WHERE {})").format(elements, test)
    return SqlCondition(sql.SQL("NOT {}").format(found) if condition.operator == "ne" else found + sql.SQL(""), values)


def _test(condition: Condition) -> tuple[sql.Composable, list[Any]]:
    from psycopg import sql

    value = condition.value
    if isinstance(value, tuple):
        return sql.SQL("e.v = ANY(%s::text[]::jsonb[])"), [[_written(one) for one in value]]
    if condition.operator in ("eq", "ne"):
        return sql.SQL("e.v = %s::text::jsonb"), [_written(value)]
    sign = sql.SQL(_SIGNS[condition.operator])
    if is_number(value):
        return sql.SQL(_NUMBER).format(sign=sign), [value]
    return sql.SQL(_MOMENT).format(sign=sign), [_DATE, moment(value)]


def _written(value: Any) -> str:
    """As JSON; the character that no database text holds is in no metadata either."""
    return json.dumps(value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value)

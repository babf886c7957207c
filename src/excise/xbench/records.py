"""What the benchmark is made of: mined pairs, and the records (one query each) written from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeVar, cast

from excise.xbench.cues import TIERS, Tier
from excise.xbench.storage import XBenchError

Form = Literal["explicit", "implicit", "mixed", "disjunctive"]
Length = Literal["short", "long"]
FORMS: tuple[Form, ...] = ("explicit", "implicit", "mixed", "disjunctive")
LENGTHS: tuple[Length, ...] = ("short", "long")
_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class Pair:
    """An anchor document (the gold to be) and one or two documents that are easily confused with it.

    Attributes
    ----------
    id
        "p0001" and so on, in the order of mining.
    gold, negatives
        ids of documents.
    similarities
        the cosine similarity of each negative to the gold.
    """

    id: str
    gold: str
    negatives: tuple[str, ...]
    similarities: tuple[float, ...]


@dataclass(frozen=True)
class Record:
    """One query of the benchmark with everything that is claimed about it.

    Attributes
    ----------
    id, pair
        its own id, and that of the pair it was written from.
    tier, form, length
        how the exclusion is worded.
    query
        what the user types.
    wanted
        X, the topic that gold and negatives share.
    topics
        Z, what is excluded, as the documents call it; one for T1 and T2, two for T3.
    wordings
        what the query calls each topic, verbatim.
    gold
        the id of the document that answers the query.
    negatives
        for each topic, the id of the document that is ruled out because of it.
    repaired
        whether an exclusion had to be written into the query again.
    """

    id: str
    pair: str
    tier: Tier
    form: Form
    length: Length
    query: str
    wanted: str
    topics: tuple[str, ...]
    wordings: tuple[str, ...]
    gold: str
    negatives: tuple[str, ...]
    repaired: bool = False


def to_dict(item: Pair | Record) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(item).items()}


def pair_from(content: Mapping[str, Any], where: str) -> Pair:
    """A pair from what :func:`to_dict` wrote."""
    return _checked(Pair, content, where)


def record_from(content: Mapping[str, Any], where: str) -> Record:
    """A record from what :func:`to_dict` wrote.

    Examples
    --------
    >>> record_from({"id": "p1-T1-short"}, "records.jsonl, line 4")
    Traceback (most recent call last):
        ...
    excise.xbench.storage.XBenchError: records.jsonl, line 4: a record needs the field 'pair'.
    """
    record = _checked(Record, content, where)
    if record.tier not in TIERS or record.form not in FORMS or record.length not in LENGTHS:
        raise XBenchError(f"{where}: unknown tier, form or length: {record.tier}, {record.form}, {record.length}.")
    if not len(record.topics) == len(record.wordings) == len(record.negatives) >= 1:
        raise XBenchError(f"{where}: a record needs as many wordings and negatives as topics, and at least one.")
    return record


def _checked(kind: type[_Kind], content: Mapping[str, Any], where: str) -> _Kind:
    values: dict[str, Any] = {}
    name = kind.__name__.lower()
    for field in fields(cast(Any, kind)):
        if field.name not in content:
            if field.name == "repaired":
                continue
            raise XBenchError(f"{where}: a {name} needs the field {field.name!r}.")
        value = content[field.name]
        many = str(field.type).startswith("tuple")
        wanted = (int, float) if "float" in str(field.type) else bool if field.type == "bool" else str
        items = value if many and isinstance(value, list) else [value]
        if (many and not isinstance(value, list)) or not all(isinstance(item, cast(Any, wanted)) for item in items):
            raise XBenchError(f"{where}: the field {field.name!r} of a {name} cannot be {value!r}.")
        values[field.name] = tuple(value) if many else value
    return kind(**values)

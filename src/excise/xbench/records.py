"""What the benchmark is made of: mined pairs, and the records (one query each) written from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from excise.xbench.checking import checked_record
from excise.xbench.cues import Tier
from excise.xbench.storage import XBenchError

Form = Literal["explicit", "implicit", "mixed", "disjunctive"]
Length = Literal["short", "long"]
LENGTHS: tuple[Length, ...] = ("short", "long")


@dataclass(frozen=True)
class MinedPair:
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

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str) -> MinedPair:
        """A pair from what :meth:`to_dict` gave; ``where`` is its place in a file."""
        return checked_record(cls, content, where, "pair")

    def to_dict(self) -> dict[str, Any]:
        return _listed(self)


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

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str) -> Record:
        """A record from what :meth:`to_dict` gave; ``where`` is its place in a file.

        Examples
        --------
        >>> Record.from_dict({"id": "p1-T1-short"}, "records.jsonl, line 4")
        Traceback (most recent call last):
            ...
        excise.xbench.storage.XBenchError: records.jsonl, line 4: a record needs the field 'pair'.
        """
        record = checked_record(cls, content, where, "record")
        if not len(record.topics) == len(record.wordings) == len(record.negatives) >= 1:
            raise XBenchError(f"{where}: a record needs as many wordings and negatives as topics, and at least one.")
        return record

    def to_dict(self) -> dict[str, Any]:
        return _listed(self)


def _listed(item: MinedPair | Record) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(item).items()}

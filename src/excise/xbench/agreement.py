"""Agreement: between two annotators (Cohen's kappa), and of a second judge with the labels."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from excise.xbench.storage import XBenchError

YES, NO = ("yes", "y", "true", "1"), ("no", "n", "false", "0")
_ROWS = 1_000_000


class Share(NamedTuple):
    """The mean of a figure over so many queries."""

    queries: int
    share: float


TierShares = Mapping[str, Share]
"""A share for each tier, and under "all" for all of them."""


@dataclass(frozen=True)
class AnnotatorAgreement:
    """Two annotators: on how many queries, how far they agree, and how often both confirm the label, by tier."""

    queries: int
    kappa: float
    agreement: float
    with_labels: TierShares

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        figures = {"queries": self.queries, "kappa": self.kappa, "agreement": self.agreement}
        return {**figures, "with_labels": plain_shares(self.with_labels)}


def plain_shares(shares: TierShares) -> dict[str, dict[str, Any]]:
    """Plain types for JSON."""
    return {tier: share._asdict() for tier, share in shares.items()}


def cohens_kappa(one: Sequence[bool], other: Sequence[bool]) -> float:
    """How far two annotators agree beyond chance: 1 is always, 0 is as chance would have it.

    Two that both gave one and the same answer to everything agree fully.

    Examples
    --------
    >>> cohens_kappa([True, True, False, False], [True, False, False, False])
    0.5
    >>> cohens_kappa([True, True], [True, True])
    1.0
    """
    if len(one) != len(other) or not one:
        raise XBenchError(f"kappa compares two lists of the same length, got {len(one)} and {len(other)}.")
    agreed = sum(a == b for a, b in zip(one, other, strict=True)) / len(one)
    yes, yes_too = sum(one) / len(one), sum(other) / len(other)
    chance = yes * yes_too + (1 - yes) * (1 - yes_too)
    return 1.0 if chance == 1.0 else (agreed - chance) / (1 - chance)


def read_annotations(path: Path) -> dict[str, bool]:
    """The filled-in rows of an annotator's sheet: by query id, whether the label is right."""
    if not path.is_file():
        raise XBenchError(f"{path}: no such file.")
    found: dict[str, bool] = {}
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as lines:
        rows = csv.DictReader(lines)
        if not {"id", "verdict"} <= set(rows.fieldnames or []):
            raise XBenchError(f"{path}: needs the columns 'id' and 'verdict', got {rows.fieldnames}.")
        for number, row in enumerate(rows, 2):
            if number > _ROWS:
                raise XBenchError(f"{path}: more than {_ROWS:,} rows.")
            id, verdict = (row["id"] or "").strip(), (row["verdict"] or "").strip().lower()
            if not verdict:
                continue
            if verdict not in YES + NO:
                raise XBenchError(f"{path}, line {number}: the verdict must be yes or no, got {verdict[:40]!r}.")
            if found.setdefault(id, verdict in YES) != (verdict in YES):
                raise XBenchError(f"{path}, line {number}: {id!r} has two different verdicts.")
    return found


def annotator_agreement(one: Path, other: Path, tiers: Mapping[str, str]) -> AnnotatorAgreement:
    """Kappa of two annotators, and how often each label was confirmed by both, by tier.

    Parameters
    ----------
    one, other
        two filled-in sheets.
    tiers
        the tier of every query of the suite.
    """
    first, second = read_annotations(one), read_annotations(other)
    shared = [id for id in first if id in second]
    strange = [id for id in shared if id not in tiers]
    if strange:
        raise XBenchError(f"the query {strange[0]!r} of {one} is not in the suite.")
    if not shared:
        raise XBenchError(f"{one} and {other} have no query in common that both have a verdict on.")
    a, b = [first[id] for id in shared], [second[id] for id in shared]
    labels = {id: (first[id] + second[id]) / 2 for id in shared}
    agreed = round(sum(x == y for x, y in zip(a, b, strict=True)) / len(shared), 4)
    return AnnotatorAgreement(len(shared), round(cohens_kappa(a, b), 4), agreed, by_tier(labels, tiers))


def by_tier(values: Mapping[str, float], tiers: Mapping[str, str]) -> dict[str, Share]:
    """The mean of values over queries, for each tier and for all.

    Examples
    --------
    >>> by_tier({"a": True, "b": False}, {"a": "T1", "b": "T1"})
    {'all': Share(queries=2, share=0.5), 'T1': Share(queries=2, share=0.5)}
    """
    groups: dict[str, list[float]] = {"all": []}
    for id, value in sorted(values.items(), key=lambda item: tiers[item[0]]):
        groups["all"].append(value)
        groups.setdefault(tiers[id], []).append(value)
    return {tier: Share(len(own), round(sum(own) / len(own), 4)) for tier, own in groups.items() if own}

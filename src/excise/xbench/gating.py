"""The gates applied to a run: what each looks at is measured here, and the outcome becomes a funnel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from excise.progress import Progress, silent
from excise.suites.jsonlines import read_objects
from excise.xbench import gates
from excise.xbench.cues import TIERS
from excise.xbench.gates import GATES, Failure, Gate, Rivalry
from excise.xbench.indexed_corpus import IndexedCorpus
from excise.xbench.near_duplicates import find_leaks
from excise.xbench.records import Record
from excise.xbench.storage import XBenchError
from excise.xbench.verdicts import RecordVerdict, TopicVerdict


@dataclass(frozen=True)
class GateSettings:
    """What the gates ask for.

    Parameters
    ----------
    depth
        how far down the gold may be found.
    bm25_share, maxsim_share
        how much of the gold's score on X a negative must reach.
    same_document
        Jaccard similarity from which two documents of a record are too much alike.
    leaked
        Jaccard similarity from which a text of a reference file is the same.
    references
        files that the benchmark must not overlap with.
    """

    depth: int = gates.DEPTH
    bm25_share: float = 0.5
    maxsim_share: float = 0.8
    same_document: float = gates.SAME_DOCUMENT
    leaked: float = gates.NEAR_DUPLICATE
    references: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise XBenchError(f"the depth of the round trip must be at least 1, got {self.depth}.")
        for name in ("bm25_share", "maxsim_share", "same_document", "leaked"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise XBenchError(f"{name} must be from 0 to 1, got {getattr(self, name):g}.")


@dataclass(frozen=True)
class Outcome:
    """A record and everything that the gates have against it, in their order."""

    record: Record
    failures: tuple[Failure, ...]

    @property
    def admitted(self) -> bool:
        return not self.failures

    def to_dict(self) -> dict[str, Any]:
        record, failures = self.record, [failure._asdict() for failure in self.failures]
        facts = {"id": record.id, "tier": record.tier, "admitted": self.admitted, "failures": failures}
        return {**facts, "query": record.query}


@dataclass(frozen=True)
class GateCount:
    """What one gate does: by tier, the records left after it and all before it, and those that fail it at all."""

    gate: Gate
    left: dict[str, int]
    failed: dict[str, int]


@dataclass(frozen=True)
class Funnel:
    """How many records are left after each gate, by tier.

    Attributes
    ----------
    written, admitted
        records that there were, and those that pass all gates.
    gates
        in their order.
    writing
        what was dropped before the gates: by reason, by tier.
    """

    written: dict[str, int]
    admitted: dict[str, int]
    gates: tuple[GateCount, ...]
    writing: dict[str, dict[str, int]]

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        rows = [{**count.gate._asdict(), "left": count.left, "failed": count.failed} for count in self.gates]
        return {"written": self.written, "admitted": self.admitted, "gates": rows, "writing": self.writing}


def apply_gates(
    records: Sequence[Record],
    verdicts: Mapping[str, RecordVerdict],
    corpus: IndexedCorpus,
    settings: GateSettings,
    progress: Progress = silent,
) -> list[Outcome]:
    """Put every record through all nine gates."""
    leaks = _leaks(records, corpus, settings, progress)
    ranks = corpus.ranks([record.query for record in records], [record.gold for record in records], settings.depth)
    outcomes = []
    for number, (record, rank) in enumerate(zip(records, ranks, strict=True), 1):
        own = verdicts.get(record.id)
        failures = _failures(record, rank, own.topics if own else (), corpus, settings, leaks.get(record.id, {}))
        outcomes.append(Outcome(record, tuple(failure for failure in failures if failure is not None)))
        progress("gates", number, len(records))
    return outcomes


def _failures(
    record: Record,
    rank: int | None,
    verdicts: Sequence[TopicVerdict],
    corpus: IndexedCorpus,
    settings: GateSettings,
    leaks: Mapping[str, str],
) -> list[Failure | None]:
    gold = corpus.document(record.gold).full_text
    negatives = [corpus.document(id).full_text for id in record.negatives]
    texts = {"gold": gold, **{f"negative {number}": text for number, text in enumerate(negatives, 1)}}
    rivalries = rivalries_on(corpus, record.wanted, record.gold, record.negatives, settings)
    return [
        gates.round_trip(rank, settings.depth),
        gates.difficulty(rivalries),
        gates.z_in_negative(verdicts),
        gates.z_not_in_gold(record, gold, verdicts),
        gates.distinctness(texts, settings.same_document),
        gates.multi_z_coverage(record, negatives, verdicts),
        gates.leakage(leaks),
        gates.paraphrase_safety(record, verdicts),
        gates.query_side(verdicts),
    ]


def rivalries_on(
    corpus: IndexedCorpus, wanted: str, gold: str, negatives: Sequence[str], settings: GateSettings
) -> list[Rivalry]:
    """How the negatives score on X beside the gold, by words and by vectors."""
    on_x = corpus.scores(wanted, [gold, *negatives])
    return [
        Rivalry("BM25", on_x.bm25[0], on_x.bm25[1:], settings.bm25_share),
        Rivalry("MaxSim", on_x.maxsim[0], on_x.maxsim[1:], settings.maxsim_share),
    ]


def _leaks(
    records: Sequence[Record], corpus: IndexedCorpus, settings: GateSettings, progress: Progress
) -> dict[str, dict[str, str]]:
    """For each record, which of its texts were found, and where. A document shared by records is looked up once."""
    documents = {id for record in records for id in (record.gold, *record.negatives)}
    texts = {f"d:{id}": corpus.document(id).text for id in sorted(documents)}
    texts |= {f"q:{record.id}": record.query for record in records}
    found = find_leaks(texts, settings.references, settings.leaked, progress)
    leaks: dict[str, dict[str, str]] = {}
    for record in records:
        names = {"query": f"q:{record.id}", "gold": f"d:{record.gold}"}
        names |= {f"negative {number}": f"d:{id}" for number, id in enumerate(record.negatives, 1)}
        leaks[record.id] = {name: found[key] for name, key in names.items() if key in found}
    return leaks


def read_outcomes(path: Path, records: Sequence[Record]) -> list[Outcome]:
    """What ``excise xbench gate`` kept of each record; records that were written since are not among them."""
    known = {record.id: record for record in records}
    outcomes = []
    for _, line in read_objects(path, XBenchError):
        if line.get("id") in known:
            failures = tuple(Failure(str(one["code"]), str(one["detail"])) for one in line["failures"])
            outcomes.append(Outcome(known[line["id"]], failures))
    return outcomes


def funnel(outcomes: Sequence[Outcome], dropped: Mapping[str, Mapping[str, int]]) -> Funnel:
    """Count what each gate leaves.

    Parameters
    ----------
    outcomes
        of every record that was written.
    dropped
        what the writing dropped: by reason, by tier.
    """
    rows = []
    standing = list(outcomes)
    for gate in GATES:
        standing = [outcome for outcome in standing if gate.code not in _codes(outcome)]
        failed = [outcome for outcome in outcomes if gate.code in _codes(outcome)]
        rows.append(GateCount(gate, _by_tier(standing), _by_tier(failed)))
    return Funnel(
        written=_by_tier(outcomes),
        admitted=_by_tier([outcome for outcome in outcomes if outcome.admitted]),
        gates=tuple(rows),
        writing={reason: dict(tiers) for reason, tiers in dropped.items()},
    )


def _codes(outcome: Outcome) -> set[str]:
    return {failure.code for failure in outcome.failures}


def _by_tier(outcomes: Sequence[Outcome]) -> dict[str, int]:
    return {tier: sum(outcome.record.tier == tier for outcome in outcomes) for tier in TIERS}

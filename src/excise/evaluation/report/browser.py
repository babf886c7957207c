"""The data behind the browser of single queries: compact, and safe inside a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from excise.errors import InvalidInput
from excise.evaluation.measures.outcomes import TOP
from excise.evaluation.report.runs import EvaluatedRun

LIMIT_BYTES = 20_000_000
LABELS = ("neutral", "gold", "excluded")


@dataclass(frozen=True)
class Embedded:
    """What the page carries: the data as text for a script element, and a sentence for each suite that was cut."""

    data: str
    notes: tuple[str, ...]


@dataclass
class _Collected:
    """One run's queries while they are read. Documents and statuses are kept once, and named by their place."""

    systems: dict[str, int] = field(default_factory=dict)
    documents: dict[str, int] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    queries: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any]) -> None:
        """One line of per_query.jsonl: what a system made of a query."""
        id, metadata = str(record["id"]), record.get("metadata") or {}
        query = self.queries.setdefault(
            id,
            {
                "id": id,
                "text": str(record["text"]),
                "tier": None if metadata.get("tier") is None else str(metadata["tier"]),
                "excluded": [str(topic) for topic in metadata.get("excluded") or []],
                "by": {},
            },
        )
        metrics = record.get("metrics") or {}
        topics = record.get("topics") or []
        query["by"][_place(self.systems, str(record["system"]))] = [
            [_rounded(metrics.get(name)) for name in ("success@10", "hit@10", "leak@10", "ndcg@10")],
            None if record.get("fired") is None else int(bool(record["fired"])),
            [[str(topic["text"]), topic.get("start"), topic.get("end")] for topic in topics],
            [self._hit(hit) for hit in (record.get("top") or [])[:TOP]],
            [self._document(_id_of(removed), "") for removed in record.get("removed") or []],
        ]

    def _hit(self, hit: Mapping[str, Any]) -> list[Any]:
        label = hit.get("label")
        return [
            self._document(str(hit["id"]), str(hit.get("title") or "")),
            LABELS.index(label) if label in LABELS else 0,
            hit.get("frozen_rank"),
            _rounded(hit.get("evidence")),
            _place(self.statuses, str(hit.get("status") or "")),
            _rounded(hit.get("score")),
        ]

    def _document(self, id: str, title: str) -> int:
        place = _place(self.documents, id)
        if place == len(self.titles):
            self.titles.append(title)
        elif title and not self.titles[place]:
            self.titles[place] = title
        return place


def embed(runs: Sequence[EvaluatedRun], limit: int = LIMIT_BYTES) -> Embedded:
    """The queries of every run, in as little room as is sensible.

    Parameters
    ----------
    runs
        runs of pairs and runs without ``per_query.jsonl`` have no queries to browse, and are passed over.
    limit
        about how many bytes may be embedded; over it, every suite keeps the same share of its queries, evenly spread.
    """
    collected = [(run, _collect(run)) for run in runs if run.kind != "pairs"]
    collected = [(run, own) for run, own in collected if own.queries]
    size = sum(len(_json(query)) for _, own in collected for query in own.queries.values())
    share = min(1.0, limit / size) if size else 1.0
    parts, notes = [], []
    for run, own in collected:
        queries = _spread(list(own.queries.values()), share)
        if len(queries) < len(own.queries):
            notes.append(
                f"{run.label}: {len(queries):,} of its {len(own.queries):,} queries are here, evenly spread; all of "
                "them would make this page too large. The tables are over all of them."
            )
        parts.append(
            {
                "label": run.label,
                "baseline": run.baseline,
                "systems": list(own.systems),
                "statuses": list(own.statuses),
                "documents": [[id, title] for id, title in zip(own.documents, own.titles, strict=True)],
                "queries": queries,
            }
        )
    return Embedded(for_script(parts), tuple(notes))


def for_script(value: Any) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element.

    Examples
    --------
    >>> for_script("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = _json(value)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _collect(run: EvaluatedRun) -> _Collected:
    own = _Collected()
    for record in run.records():
        try:
            own.add(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            where = f"{run.folder / 'per_query.jsonl'}, query {record.get('id')!r}"
            raise InvalidInput(f"{where}: not as 'excise eval' writes it: {error!r}.") from None
    return own


def _spread(queries: list[dict[str, Any]], share: float) -> list[dict[str, Any]]:
    count = max(1, int(len(queries) * share))
    return [queries[number * len(queries) // count] for number in range(count)]


def _place(places: dict[str, int], name: str) -> int:
    return places.setdefault(name, len(places))


def _id_of(removed: Any) -> str:
    return str(removed["id"] if isinstance(removed, Mapping) else removed)


def _rounded(value: Any) -> float | None:
    return None if value is None else round(float(value), 3)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

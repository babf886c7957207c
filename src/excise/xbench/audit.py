"""Checks on a finished suite: what can be said without a model, and what others said about it."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from excise.documents import Corpus, Document
from excise.suites.suites import Query, Suite, load_suite
from excise.xbench.agreement import annotator_agreement, by_tier
from excise.xbench.cues import TIERS, cue_problem, explicit_cues, strict_cues
from excise.xbench.gates import distinctness, z_not_in_gold_lexically
from excise.xbench.leakage import texts_of
from excise.xbench.storage import XBenchError, read_lines
from excise.xbench.texts import mentions, normalised
from excise.xbench.verdicts import read_verdicts


class Finding(NamedTuple):
    """Something that a check has against a query (``query`` is its id)."""

    check: str
    tier: str
    query: str
    detail: str


@dataclass
class Audit:
    """The outcome: figures by check, and every single finding."""

    figures: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {**self.figures, "findings": [finding._asdict() for finding in self.findings]}


def audit_suite(
    folder: str | Path,
    split: str,
    second_judge: Path | None = None,
    train: Sequence[Path] = (),
    annotations: tuple[Path, Path] | None = None,
) -> Audit:
    """Audit one split of a suite.

    Parameters
    ----------
    folder, split
        any suite with tiers in its metadata; "own" is the built-in one.
    second_judge
        a file of verdicts by another judge (``excise xbench judge RUN --name second --model ...``).
    train
        files that the suite must not overlap with, by normalised exact match.
    annotations
        two filled-in sheets.
    """
    suite = load_suite(folder, split)
    queries = [query for query in suite.queries if query.tier in TIERS]
    if not queries:
        raise XBenchError(f"{folder}: no query of the split {split!r} has the tier T1, T2 or T3.")
    documents = {document.id: document for document in Corpus([suite.corpus])}
    tiers = {query.id: str(query.tier) for query in queries}
    audit = Audit()
    audit.figures = {"suite": suite.name, "split": split, "queries": {t: list(tiers.values()).count(t) for t in TIERS}}
    _cues(queries, audit)
    _documents(suite, queries, documents, audit)
    if second_judge is not None:
        audit.figures["second_judge"] = _second_judge(second_judge, tiers, audit)
    if train:
        audit.figures["overlap"] = [_overlap(path, suite, documents, audit) for path in train]
    if annotations is not None:
        audit.figures["annotators"] = annotator_agreement(*annotations, tiers)
    return audit


def _cues(queries: Sequence[Query], audit: Audit) -> None:
    """T2 must have no cue of the strict list; T1 and T3 must have a cue."""
    clean: dict[str, float] = {}
    for query in queries:
        problem = cue_problem(str(query.tier), query.text)
        clean[query.id] = problem is None
        if problem:
            audit.findings.append(Finding("cue", str(query.tier), query.id, problem))
    tiers = {query.id: str(query.tier) for query in queries}
    audit.figures["cue_test"] = by_tier(clean, tiers)
    audit.figures["strict_cue"] = by_tier({query.id: bool(strict_cues(query.text)) for query in queries}, tiers)
    others = [query for query in queries if query.tier == "T2" and explicit_cues(query.text)]
    audit.figures["further_cues_in_T2"] = {query.id: explicit_cues(query.text) for query in others}


def _documents(suite: Suite, queries: Sequence[Query], documents: Mapping[str, Document], audit: Audit) -> None:
    """The gates that look at documents and need no judge: what they have against each query."""
    passed: dict[str, dict[str, float]] = {}
    for query in queries:
        found = {finding.check: finding for finding in reversed(list(_document_findings(suite, query, documents)))}
        audit.findings += found.values()
        for check in ("Z not in gold", "Z in negative", "distinctness"):
            passed.setdefault(check, {})[query.id] = check not in found
    tiers = {query.id: str(query.tier) for query in queries}
    audit.figures["document_side"] = {check: by_tier(values, tiers) for check, values in passed.items()}


def _document_findings(suite: Suite, query: Query, documents: Mapping[str, Document]) -> Iterator[Finding]:
    topics = tuple(dict.fromkeys([*query.excluded, *(query.metadata.get("topics") or [])]))
    tier = str(query.tier)
    golds = [id for id, score in suite.qrels.get(query.id, {}).items() if score > 0]
    negatives = sorted(suite.negatives.get(query.id, ()))
    for id in golds:
        failure = z_not_in_gold_lexically(topics, documents[id].full_text)
        if failure:
            yield Finding("Z not in gold", tier, query.id, f"{id}: {failure.detail}")
    for id in negatives:
        if not any(mentions(documents[id].full_text, topic) for topic in topics):
            names = ", ".join(repr(topic) for topic in topics)
            yield Finding("Z in negative", tier, query.id, f"{id} does not name {names}: only a judge can tell")
    failure = distinctness({id: documents[id].full_text for id in (*golds, *negatives)})
    if failure:
        yield Finding("distinctness", tier, query.id, failure.detail)


def _second_judge(path: Path, tiers: Mapping[str, str], audit: Audit) -> dict[str, Any]:
    """How often another judge agrees that an admitted query rules its topics out."""
    verdicts = {id: verdict for id, verdict in read_verdicts(path).items() if id in tiers}
    if not verdicts:
        raise XBenchError(f"{path}: has no verdict on any query of the suite.")
    agrees = {id: all(topic.excludes is True for topic in verdict.topics) for id, verdict in verdicts.items()}
    for id, agreed in agrees.items():
        if not agreed:
            detail = f"{verdicts[id].judge} does not read the exclusion"
            audit.findings.append(Finding("second judge", tiers[id], id, detail))
    return {"judge": next(iter(verdicts.values())).judge, "agreement": by_tier(agrees, tiers)}


def _overlap(path: Path, suite: Suite, documents: Mapping[str, Document], audit: Audit) -> dict[str, Any]:
    """Queries of the suite, and documents it judges, that a file has too, by normalised exact match."""
    seen = {normalised(text) for _, record in read_lines(path) for text in texts_of(record)}
    judged = {id for rows in (*suite.qrels.values(), *suite.negatives.values()) for id in rows}
    queries = [query for query in suite.queries if normalised(query.text) in seen]
    shared = [id for id in judged if {normalised(documents[id].text), normalised(documents[id].full_text)} & seen]
    audit.findings += [Finding("overlap", str(query.tier), query.id, f"is in {path}") for query in queries]
    return {"file": str(path), "queries": len(queries), "documents": len(shared), "texts": len(seen)}


def annotation_sheet(suite: Suite, size: int, seed: int = 0) -> str:
    """A CSV for annotators: a sample with as many queries of each tier as there are, its ``verdict`` column empty."""
    if size < 1:
        raise XBenchError(f"a sheet has at least 1 row, got {size}.")
    chosen: list[Query] = []
    for number, tier in enumerate(TIERS):
        own = [query for query in suite.queries if query.tier == tier]
        random.Random(f"{seed}|{tier}").shuffle(own)
        chosen += own[: size // 3 + (number < size % 3)]
    random.Random(seed).shuffle(chosen)
    sheet = io.StringIO()
    rows = csv.writer(sheet)
    rows.writerow(["id", "tier", "query", "wanted", "excluded", "verdict", "comment"])
    for query in chosen:
        cells = [query.id, query.tier, query.text, query.metadata.get("wanted", ""), "; ".join(query.excluded), "", ""]
        rows.writerow([_safe(str(cell)) for cell in cells])
    return sheet.getvalue()


def _safe(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@") else cell

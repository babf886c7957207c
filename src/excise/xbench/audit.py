"""Checks on a finished suite: what can be said without a model, and what others said about it."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from excise.documents import Document
from excise.extras import need
from excise.suites.jsonlines import read_objects
from excise.suites.suites import Query, Suite, load_suite
from excise.xbench.agreement import AnnotatorAgreement, TierShares, annotator_agreement, by_tier, plain_shares
from excise.xbench.cues import TIERS, cue_problem, explicit_cues, strict_cues
from excise.xbench.gallery import gallery
from excise.xbench.gates import distinctness, z_not_in_gold_lexically
from excise.xbench.near_duplicates import texts_of
from excise.xbench.storage import XBenchError, write_json, write_text
from excise.xbench.texts import mentions, normalised
from excise.xbench.verdicts import read_verdicts

_DOCUMENT_CHECKS = ("Z not in gold", "Z in negative", "distinctness")


class Finding(NamedTuple):
    """Something that a check has against a query (``query`` is its id)."""

    check: str
    tier: str
    query: str
    detail: str


@dataclass(frozen=True)
class AuditSources:
    """What others said: verdicts of a second judge, training files, and two annotators' filled-in sheets."""

    second_judge: Path | None = None
    train: tuple[Path, ...] = ()
    annotations: tuple[Path, Path] | None = None


@dataclass(frozen=True)
class SecondJudge:
    """How often another judge agrees that an admitted query rules its topics out."""

    judge: str
    agreement: TierShares

    def to_dict(self) -> dict[str, Any]:
        return {"judge": self.judge, "agreement": plain_shares(self.agreement)}


@dataclass(frozen=True)
class SharedTexts:
    """How many queries, and documents that are judged, a training file has too; ``texts`` is how many it holds."""

    file: str
    queries: int
    documents: int
    texts: int


@dataclass(frozen=True)
class Audit:
    """The outcome: figures by check, and every single finding.

    Attributes
    ----------
    queries
        how many there are of each tier.
    cue_test, strict_cue
        the share whose cues fit the tier, and that has a cue of the strict list.
    further_cues
        the explicit cues of implicit queries, by query id.
    document_side
        the share that each gate which looks at documents passes, by gate.
    second_judge, overlap, annotators
        None where there was nothing to compare with.
    """

    suite: str
    split: str
    queries: dict[str, int]
    cue_test: TierShares
    strict_cue: TierShares
    further_cues: dict[str, list[str]]
    document_side: dict[str, TierShares]
    second_judge: SecondJudge | None
    overlap: tuple[SharedTexts, ...] | None
    annotators: AnnotatorAgreement | None
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON; comparisons that were not made are left out."""
        figures: dict[str, Any] = {
            "suite": self.suite,
            "split": self.split,
            "queries": self.queries,
            "cue_test": plain_shares(self.cue_test),
            "strict_cue": plain_shares(self.strict_cue),
            "further_cues_in_T2": self.further_cues,
            "document_side": {check: plain_shares(shares) for check, shares in self.document_side.items()},
        }
        if self.second_judge is not None:
            figures["second_judge"] = self.second_judge.to_dict()
        if self.overlap is not None:
            figures["overlap"] = [asdict(shared) for shared in self.overlap]
        if self.annotators is not None:
            figures["annotators"] = self.annotators.to_dict()
        return {**figures, "findings": [finding._asdict() for finding in self.findings]}


def audit_suite(folder: str | Path, split: str, sources: AuditSources | None = None) -> Audit:
    """Audit one split of a suite.

    Parameters
    ----------
    folder, split
        any suite with tiers in its metadata; "own" is the built-in one.
    sources
        what it is compared with: a file of verdicts by another judge (``excise xbench judge RUN --name second --model
        ...``), files that it must not overlap with, by normalised exact match, and two filled-in sheets.
    """
    return _audited(load_suite(folder, split), sources or AuditSources())


def write_audit(
    folder: str | Path, split: str, out: Path, sources: AuditSources | None = None, sheet: int = 150, seed: int = 0
) -> Audit:
    """Audit a suite, and write the findings, a sheet for annotators and the gallery into a folder."""
    need("the gallery", "xbench", "jinja2")
    suite = load_suite(folder, split)
    audit = _audited(suite, sources or AuditSources())
    write_json(out / "audit.json", audit.to_dict())
    write_text(out / "sheet.csv", annotation_sheet(suite, sheet, seed))
    write_text(out / "gallery.html", gallery(suite, seed=seed))
    return audit


def _audited(suite: Suite, sources: AuditSources) -> Audit:
    queries = [query for query in suite.queries if query.tier in TIERS]
    if not queries:
        raise XBenchError(f"{suite.folder}: no query of the split {suite.split!r} has the tier T1, T2 or T3.")
    documents = {document.id: document for document in suite.documents()}
    tiers = {query.id: str(query.tier) for query in queries}
    cues = _cue_findings(queries)
    against = [finding for query in queries for finding in _document_findings(suite, query, documents)]
    second, disagreed = _second_judge(sources.second_judge, tiers)
    shared = [_shared_texts(path, suite, documents) for path in sources.train]
    annotated = sources.annotations
    return Audit(
        suite=suite.name,
        split=suite.split,
        queries={tier: list(tiers.values()).count(tier) for tier in TIERS},
        cue_test=_passed(cues, tiers),
        strict_cue=by_tier({query.id: bool(strict_cues(query.text)) for query in queries}, tiers),
        further_cues={q.id: explicit_cues(q.text) for q in queries if q.tier == "T2" and explicit_cues(q.text)},
        document_side={check: _passed([f for f in against if f.check == check], tiers) for check in _DOCUMENT_CHECKS},
        second_judge=second,
        overlap=tuple(texts for texts, _ in shared) if shared else None,
        annotators=annotator_agreement(*annotated, tiers) if annotated is not None else None,
        findings=(*cues, *against, *disagreed, *(finding for _, found in shared for finding in found)),
    )


def _passed(findings: Sequence[Finding], tiers: Mapping[str, str]) -> TierShares:
    """The share of queries that there is no finding against."""
    against = {finding.query for finding in findings}
    return by_tier({id: id not in against for id in tiers}, tiers)


def _cue_findings(queries: Sequence[Query]) -> list[Finding]:
    """T2 must have no cue of the strict list; T1 and T3 must have a cue."""
    problems = ((query, cue_problem(str(query.tier), query.text)) for query in queries)
    return [Finding("cue", str(query.tier), query.id, problem) for query, problem in problems if problem]


def _document_findings(suite: Suite, query: Query, documents: Mapping[str, Document]) -> Iterator[Finding]:
    """What the gates that look at documents and need no judge have against a query: the first finding of each."""
    topics = tuple(dict.fromkeys([*query.excluded, *(query.metadata.get("topics") or [])]))
    golds = [id for id, score in suite.qrels.get(query.id, {}).items() if score > 0]
    negatives = sorted(suite.negatives.get(query.id, ()))
    named = [(id, z_not_in_gold_lexically(topics, documents[id].full_text)) for id in golds]
    unnamed = [id for id in negatives if not any(mentions(documents[id].full_text, topic) for topic in topics)]
    alike = distinctness({id: documents[id].full_text for id in (*golds, *negatives)})
    details = {
        "distinctness": alike.detail if alike else None,
        "Z in negative": next((f"{id} does not name {_quoted(topics)}: only a judge can tell" for id in unnamed), None),
        "Z not in gold": next((f"{id}: {failure.detail}" for id, failure in named if failure), None),
    }
    for check, detail in details.items():
        if detail:
            yield Finding(check, str(query.tier), query.id, detail)


def _quoted(topics: Sequence[str]) -> str:
    return ", ".join(repr(topic) for topic in topics)


def _second_judge(path: Path | None, tiers: Mapping[str, str]) -> tuple[SecondJudge | None, list[Finding]]:
    if path is None:
        return None, []
    verdicts = {id: verdict for id, verdict in read_verdicts(path).items() if id in tiers}
    if not verdicts:
        raise XBenchError(f"{path}: has no verdict on any query of the suite.")
    agrees = {id: all(topic.excludes is True for topic in verdict.topics) for id, verdict in verdicts.items()}
    findings = [
        Finding("second judge", tiers[id], id, f"{verdicts[id].judge} does not read the exclusion")
        for id, agreed in agrees.items()
        if not agreed
    ]
    return SecondJudge(next(iter(verdicts.values())).judge, by_tier(agrees, tiers)), findings


def _shared_texts(path: Path, suite: Suite, documents: Mapping[str, Document]) -> tuple[SharedTexts, list[Finding]]:
    """Queries of the suite, and documents it judges, that a file has too, by normalised exact match."""
    seen = {normalised(text) for _, record in read_objects(path, XBenchError) for text in texts_of(record)}
    judged = {id for rows in (*suite.qrels.values(), *suite.negatives.values()) for id in rows}
    queries = [query for query in suite.queries if normalised(query.text) in seen]
    shared = [id for id in judged if {normalised(documents[id].text), normalised(documents[id].full_text)} & seen]
    findings = [Finding("overlap", str(query.tier), query.id, f"is in {path}") for query in queries]
    return SharedTexts(str(path), len(queries), len(shared), len(seen)), findings


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

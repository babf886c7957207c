"""The step after the gates: grade what the admitted queries find, and add the grades to the suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from excise.progress import Progress, silent
from excise.suites.suites import load_suite
from excise.xbench.answers import Answers
from excise.xbench.bench_folder import BenchFolder
from excise.xbench.conversation import Channel, Exchange, converse
from excise.xbench.grading import GradedDocument, coverage_labels, grades_of_queries, plan_grading
from excise.xbench.indexed_corpus import IndexedCorpus
from excise.xbench.records import Record
from excise.xbench.run_settings import GraderOptions, merged
from excise.xbench.storage import XBenchError, write_lines
from excise.xbench.suite_writer import write_grades
from excise.xbench.verdicts import check_judge


@dataclass(frozen=True)
class GradesResult:
    """What grading gave so far.

    Attributes
    ----------
    topics, documents
        topics of pairs, and pairs of topic and document that have a grade.
    grades
        how many there are of each grade; "none" counts those that the model left open.
    further
        documents of grade 2 a query, on average, beside the negatives it was written from.
    golds
        golds that were graded 2, against what the gates found: queries to look at.
    """

    run: Path
    suite: Path
    topics: int
    documents: int
    grades: dict[str, int]
    further: float
    golds: tuple[str, ...]
    exchange: Exchange

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        places = {"run": str(self.run), "suite": str(self.suite)}
        counts = {"topics": self.topics, "documents": self.documents, "grades": self.grades}
        return {**places, **counts, "further": self.further, "golds": list(self.golds), **self.exchange.to_dict()}


def grade_run(
    folder: Path,
    suite: Path,
    split: str,
    given: Mapping[str, Any],
    channel: Channel,
    allow_writer: bool = False,
    progress: Progress = silent,
) -> GradesResult:
    """Grade as far as the channel goes; the suite gets the grades when all of them are there.

    Parameters
    ----------
    suite, split
        what ``excise xbench gate`` wrote.
    given
        settings by name (:class:`excise.xbench.run_settings.GraderOptions`); those left out are as in the call before.
    allow_writer
        let the model grade that wrote.
    """
    run = BenchFolder.open(folder)
    admitted = _admitted(run, suite, split)
    judge = run.remembered("judge")
    before: dict[str, Any] = {name: judge[name] for name in ("model", "json_mode") if name in judge}
    before |= run.remembered("grader")
    options = merged(GraderOptions, before, given, "grader")
    settings = options.settings()
    check_judge(settings.grader.name, run.remembered("writer").get("model"), allow_writer)
    run.remember("grader", options.to_dict())
    corpus = IndexedCorpus(run, progress)
    found = corpus.found([record.query for record in admitted], settings.depth)
    shortlists = {record.id: ids for record, ids in zip(admitted, found, strict=True)}
    graded, exchange = converse(
        lambda desk: plan_grading(admitted, shortlists, corpus.documents, desk, settings),
        Answers(run.path("answers")),
        channel,
        progress,
    )
    write_lines(run.path("grades.jsonl"), (one.to_dict() for one in graded))
    if not exchange.pending:
        name = suite.resolve().name
        write_grades(suite, split, grades_of_queries(admitted, graded), coverage_labels(admitted, graded, name))
    return _result(run, suite, admitted, graded, exchange)


def _admitted(run: BenchFolder, suite: Path, split: str) -> list[Record]:
    """The records that the suite was written from."""
    if not (suite / "queries.jsonl").is_file():
        raise XBenchError(f"{suite} is no suite yet: run 'excise xbench gate {run.folder} --out {suite}' first.")
    ids = {query.id for query in load_suite(suite, split).queries}
    admitted = [record for record in run.records() if record.id in ids]
    if not admitted:
        raise XBenchError(f"{suite} holds no query of the run {run.folder}: name the suite that 'gate' made of it.")
    return admitted


def _result(
    run: BenchFolder, suite: Path, admitted: Sequence[Record], graded: Sequence[GradedDocument], exchange: Exchange
) -> GradesResult:
    counts = Counter("none" if one.grade is None else str(one.grade) for one in graded)
    covering = {
        id: {document for document, grade in own.items() if grade == 2}
        for id, own in grades_of_queries(admitted, graded).items()
    }
    further = [len(covering.get(one.id, set()) - {one.gold, *one.negatives}) for one in admitted]
    return GradesResult(
        run=run.folder,
        suite=suite,
        topics=len({(one.pair, one.topic) for one in graded}),
        documents=len(graded),
        grades={grade: counts[grade] for grade in ("2", "1", "0", "none") if counts[grade]},
        further=round(sum(further) / len(admitted), 2),
        golds=tuple(record.id for record in admitted if record.gold in covering.get(record.id, set())),
        exchange=exchange,
    )

"""A whole benchmark from one configuration file: every step in turn, each going on where it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from excise.extras import need
from excise.progress import Progress, silent
from excise.xbench.audit import Audit, AuditSources, write_audit
from excise.xbench.build_config import BuildConfig
from excise.xbench.conversation import Exchange
from excise.xbench.grading_step import GradesResult, grade_run
from excise.xbench.steps import (
    GatingResult,
    JudgingResult,
    MiningResult,
    WritingResult,
    gate_run,
    judge_run,
    mine_run,
    write_run,
)


@dataclass(frozen=True)
class BuildResult:
    """How far a build came: "done", or what is waited for; and what each step gave that was come to."""

    state: str
    mine: MiningResult
    write: WritingResult
    judge: JudgingResult | None = None
    gate: GatingResult | None = None
    grade: GradesResult | None = None
    audit: Audit | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON; steps that were not come to are left out."""
        plain: dict[str, Any] = {"state": self.state, "mine": self.mine.to_dict(), "write": self.write.to_dict()}
        if self.judge is not None:
            plain["judge"] = self.judge.to_dict()
        if self.gate is not None:
            plain["gate"] = self.gate.to_dict()
        if self.grade is not None:
            plain["grade"] = self.grade.to_dict()
        if self.audit is not None:
            plain["audit"] = self.audit.to_dict()
        return plain


def build(corpus: Path, config: BuildConfig, progress: Progress = silent) -> BuildResult:
    """Run every step; stops, to be called again, where a batch of answers is waited for."""
    # Everything is read before anything is paid for: a slip in the last table must not come up at the end.
    need("a build", "xbench", "bm25s", "jinja2")
    mining, writer, judge = config.mining(corpus), config.channel("writer"), config.channel("judge")
    gates, controls, train = config.gates(), config.controls(), config.train()
    grader = config.channel("grade") if config.graded else None
    mined = mine_run(config.run, mining, progress=progress)
    written = write_run(config.run, config.model("writer"), writer, progress)
    if written.exchange.pending:
        return BuildResult(_waits("writer", written.exchange), mined, written)
    judged = judge_run(config.run, config.model("judge"), judge, None, config.allow_writer(), progress)
    if judged.exchange.pending:
        return BuildResult(_waits("judge", judged.exchange), mined, written, judged)
    gated = gate_run(config.run, config.suite, gates, config.split, controls, progress)
    graded = None
    if grader is not None:
        place = (config.run, config.suite, config.split)
        graded = grade_run(*place, config.model("grade"), grader, config.allow_writer(), progress)
        if graded.exchange.pending:
            return BuildResult(_waits("grade", graded.exchange), mined, written, judged, gated, graded)
    audit = write_audit(config.suite, config.split, config.run / "audit", AuditSources(train=tuple(train)))
    return BuildResult("done", mined, written, judged, gated, graded, audit)


def _waits(who: str, exchange: Exchange) -> str:
    files = ", ".join(exchange.batch_out)
    answers = f"{who}-answers-N.jsonl"
    return (
        f"waiting for answers to {exchange.pending:,} requests in {files}: put them beside it as {answers}, call again"
    )

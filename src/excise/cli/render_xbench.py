"""How the steps of X-Bench look in a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from excise.cli.render import printable, say, show

if TYPE_CHECKING:
    from excise.xbench.audit import Audit
    from excise.xbench.conversation import Exchange
    from excise.xbench.effort import Effort
    from excise.xbench.gating import Funnel
    from excise.xbench.grading_step import GradesResult
    from excise.xbench.steps import JudgingResult, WritingResult


def say_written(result: WritingResult) -> None:
    """What was written so far, and what is to be done next."""
    say(f"{result.records:,} records ({_counted(result.by_tier)})")
    for reason, counts in result.dropped.items():
        say(f"  dropped, {reason}: {_counted(counts)}", "dim")
    _say_exchange(result.exchange, "judge", result.run)


def say_judged(result: JudgingResult) -> None:
    """What was judged so far, and what is to be done next."""
    say(f"{result.judged:,} of {result.records:,} records have their verdicts")
    _say_exchange(result.exchange, "gate", result.run)


def _say_exchange(exchange: Exchange, after: str, run: Path) -> None:
    if exchange.batch_in is not None:
        say(f"  answers: {_counted(vars(exchange.batch_in))}", "dim")
    usage = exchange.endpoint
    if usage is not None:
        cost = f", cost {usage.cost:.4f}" if usage.cost else ""
        say(f"  {usage.answered:,} answers, {usage.retries:,} retries, {usage.refused:,} refused{cost}", "dim")
    if exchange.malformed:
        bad, lost = sum(exchange.malformed.values()), sum(exchange.unusable.values())
        say(f"  {bad:,} malformed answers; {lost:,} requests given up after the second", "dim")
    say(f"  {_tokens(exchange)} so far", "dim")
    if exchange.batch_out:
        say(f"wrote {exchange.pending:,} requests to {', '.join(exchange.batch_out)}; read answers with --batch-in")
    elif exchange.pending:
        stages = _counted(exchange.pending_by_stage)
        say(f"{exchange.pending:,} requests wait ({stages}): use --endpoint or --batch-out")
    elif after:
        say(f"done; next: excise xbench {after} {run}")


def _tokens(used: Exchange | Effort) -> str:
    rough = f" ({used.tokens_estimated:,} answers came without a count: estimated)" if used.tokens_estimated else ""
    return f"{used.tokens_in:,} tokens read and {used.tokens_out:,} written{rough}"


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items())


def show_funnel(funnel: Funnel, effort: Effort) -> None:
    """What was dropped and why, from documents to the last gate, and what was asked for it."""
    for reason, number in effort.passed_over.items():
        say(f"passed over while mining, {reason}: {number:,} documents", "dim")
    say(f"{effort.pairs:,} pairs")
    show(funnel_table(funnel))
    asked = sum(effort.requests.values())
    say(f"{asked:,} requests ({_counted(effort.requests)}); {_tokens(effort)}", "dim")
    if effort.requests_per_admitted is not None:
        say(f"{effort.requests_per_admitted:g} requests an admitted query, grading apart", "dim")


def say_graded(result: GradesResult) -> None:
    """What was graded so far, and what is to be done next."""
    grades = ", ".join(f"{number:,} of grade {grade}" for grade, number in result.grades.items())
    say(f"{result.documents:,} documents graded for {result.topics:,} topics ({grades or 'none yet'})")
    say(f"  {result.further:g} documents a query cover what it rules out, beside its own negatives", "dim")
    for id in result.golds:
        say(f"  the gold of {id} was graded as covering what is ruled out: have a look", "dim")
    _say_exchange(result.exchange, "", result.run)
    if not result.exchange.pending:
        say(f"wrote the grades and labels into {result.suite}")


def funnel_table(funnel: Funnel) -> Table:
    """How many records are dropped while writing, and how many each gate leaves."""
    table = Table(
        "gate", "reason code", "T1", "T2", "T3", box=None, title="dropped while writing; left after each gate"
    )
    for reason, counts in funnel.writing.items():
        table.add_row(
            "(dropped)", reason, *(f"-{counts[tier]:,}" if counts.get(tier) else "" for tier in funnel.written)
        )
    table.add_row("written", "", *(f"{number:,}" for number in funnel.written.values()))
    for count in funnel.gates:
        table.add_row(count.gate.name, count.gate.code, *(f"{number:,}" for number in count.left.values()))
    return table


def show_audit(audit: Audit) -> None:
    """The shares that pass each check, and every finding."""
    title = Text(printable(f"{audit.suite} {audit.split}: share that passes"), style="table.title")
    table = Table("check", "all", "T1", "T2", "T3", box=None, title=title)
    rows = {"cues fit the tier": audit.cue_test, "has a strict cue": audit.strict_cue, **audit.document_side}
    if audit.second_judge is not None:
        rows[f"second judge ({audit.second_judge.judge})"] = audit.second_judge.agreement
    for name, shares in rows.items():
        cells = [shares.get(tier) for tier in ("all", "T1", "T2", "T3")]
        table.add_row(Text(printable(name)), *(f"{one.share:.1%} of {one.queries:,}" if one else "" for one in cells))
    show(table)
    for shared in audit.overlap or ():
        say(f"overlap with {shared.file}: {shared.queries:,} queries, {shared.documents:,} documents")
    both = audit.annotators
    if both is not None:
        say(f"annotators: kappa {both.kappa:.2f}, agreement {both.agreement:.1%}, {both.queries:,} queries")
    for finding in audit.findings:
        say(f"  {finding.check}: {finding.query} ({finding.tier}): {finding.detail}", "dim")

"""How the steps of X-Bench look in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from excise.cli.render import say, show


def say_exchange(said: Mapping[str, Any], after: str, run: Path) -> None:
    """What was asked, what came back, and what is to be done next."""
    if said["batch_in"]:
        say("  answers: " + ", ".join(f"{number:,} {kind}" for kind, number in said["batch_in"].items()), "dim")
    usage = said["endpoint"]
    if usage:
        cost = f", cost {usage['cost']:.4f}" if usage["cost"] else ""
        say(f"  {usage['answered']:,} answers, {usage['retries']:,} retries, {usage['refused']:,} refused{cost}", "dim")
    if said["malformed"]:
        bad, lost = sum(said["malformed"].values()), sum(said["unusable"].values())
        say(f"  {bad:,} malformed answers; {lost:,} requests given up after the second", "dim")
    say(f"  {said['tokens_in']:,} tokens read and {said['tokens_out']:,} written so far", "dim")
    if said["batch_out"]:
        say(f"wrote {said['pending']:,} requests to {', '.join(said['batch_out'])}; read answers with --batch-in")
    elif said["pending"]:
        stages = ", ".join(f"{number:,} {stage}" for stage, number in said["pending_by_stage"].items())
        say(f"{said['pending']:,} requests wait ({stages}): use --endpoint or --batch-out")
    else:
        say(f"done; next: excise xbench {after} {run}")


def funnel_table(said: Mapping[str, Any]) -> Table:
    table = Table("gate", "reason code", "T1", "T2", "T3", box=None, title="records left after each gate")
    table.add_row("written", "", *(f"{number:,}" for number in said["written"].values()))
    for gate_ in said["gates"]:
        table.add_row(gate_["name"], gate_["code"], *(f"{number:,}" for number in gate_["left"].values()))
    return table


def show_audit(said: Mapping[str, Any]) -> None:
    table = Table(
        "check", "all", "T1", "T2", "T3", box=None, title=f"{said['suite']} {said['split']}: share that passes"
    )
    rows = {"cues fit the tier": said["cue_test"], "has a strict cue": said["strict_cue"], **said["document_side"]}
    if "second_judge" in said:
        rows[f"second judge ({said['second_judge']['judge']})"] = said["second_judge"]["agreement"]
    for name, shares in rows.items():
        cells = [shares.get(tier, {}) for tier in ("all", "T1", "T2", "T3")]
        table.add_row(name, *(f"{c['share']:.1%} of {c['queries']:,}" if c else "" for c in cells))
    show(table)
    for overlap in said.get("overlap", []):
        say(f"overlap with {overlap['file']}: {overlap['queries']:,} queries, {overlap['documents']:,} documents")
    if "annotators" in said:
        found = said["annotators"]
        say(f"annotators: kappa {found['kappa']:.2f}, agreement {found['agreement']:.1%}, {found['queries']:,} queries")
    for finding in said["findings"]:
        say(f"  {finding['check']}: {finding['query']} ({finding['tier']}): {finding['detail']}", "dim")

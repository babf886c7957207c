"""The data card of a suite: what is in it, how it came about, how to read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from excise import __version__
from excise.xbench.bench_folder import BenchFolder
from excise.xbench.cues import TIERS
from excise.xbench.gating import Funnel
from excise.xbench.prompts import versions
from excise.xbench.records import Record


def data_card(name: str, split: str, run: BenchFolder, records: Sequence[Record], funnel: Funnel) -> str:
    """The card as Markdown."""
    mined = run.mined
    template = Template((files(__package__) / "card.md").read_text(encoding="utf-8"))
    return template.substitute(
        name=name,
        split=split,
        version=__version__,
        composition=_composition(records),
        corpus=_last(str(run.mining.corpus)),
        band="unknown" if mined is None else f"{mined.edges[0]:.3f} to {mined.edges[1]:.3f}",
        seed=run.mining.seed,
        writer=run.remembered("writer").get("model", "unknown"),
        judge=run.remembered("judge").get("model", "unknown"),
        prompts=", ".join(f"{prompt} v{number}" for prompt, number in versions().items()),
        funnel=_funnel(funnel),
    )


def _last(path: str) -> str:
    return "/".join(path.replace("\\", "/").rstrip("/").split("/")[-2:])


def _composition(records: Sequence[Record]) -> str:
    counts = Counter((record.tier, record.form, record.length) for record in records)
    rows = [f"| {tier} | {form} | {length} | {number:,} |" for (tier, form, length), number in sorted(counts.items())]
    return "\n".join(["| tier | form | length | queries |", "| --- | --- | --- | --- |", *rows])


def _funnel(funnel: Funnel) -> str:
    lines = ["| gate | reason code | T1 left | T2 left | T3 left |", "| --- | --- | --- | --- | --- |"]
    lines.append("| (written) | | " + " | ".join(f"{funnel.written[tier]:,}" for tier in TIERS) + " |")
    for count in funnel.gates:
        left = " | ".join(f"{count.left[tier]:,}" for tier in TIERS)
        lines.append(f"| {count.gate.name} | `{count.gate.code}` | {left} |")
    return "\n".join(lines)

"""The data card of a suite: what is in it, how it came about, how to read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from excise import __version__
from excise.xbench.cues import TIERS
from excise.xbench.prompts import versions
from excise.xbench.records import Record


def data_card(
    name: str, split: str, config: Mapping[str, Any], records: Sequence[Record], funnel: Mapping[str, Any]
) -> str:
    """The card as Markdown."""
    mining = config["mining"]
    template = Template((files(__package__) / "card.md").read_text(encoding="utf-8"))
    return template.substitute(
        name=name,
        split=split,
        version=__version__,
        composition=_composition(records),
        corpus=_last(mining["corpus"]),
        band=f"{config['mined']['edges'][0]:.3f} to {config['mined']['edges'][1]:.3f}",
        seed=mining["seed"],
        writer=config.get("writer", {}).get("model", "unknown"),
        judge=config.get("judge", {}).get("model", "unknown"),
        prompts=", ".join(f"{prompt} v{number}" for prompt, number in versions().items()),
        funnel=_funnel(funnel),
    )


def _last(path: str) -> str:
    return "/".join(path.replace("\\", "/").rstrip("/").split("/")[-2:])


def _composition(records: Sequence[Record]) -> str:
    counts = Counter((record.tier, record.form, record.length) for record in records)
    rows = [f"| {tier} | {form} | {length} | {number:,} |" for (tier, form, length), number in sorted(counts.items())]
    return "\n".join(["| tier | form | length | queries |", "| --- | --- | --- | --- |", *rows])


def _funnel(funnel: Mapping[str, Any]) -> str:
    lines = ["| gate | reason code | T1 left | T2 left | T3 left |", "| --- | --- | --- | --- | --- |"]
    lines.append("| (written) | | " + " | ".join(f"{funnel['written'][tier]:,}" for tier in TIERS) + " |")
    for gate in funnel["gates"]:
        left = " | ".join(f"{gate['left'][tier]:,}" for tier in TIERS)
        lines.append(f"| {gate['name']} | `{gate['code']}` | {left} |")
    return "\n".join(lines)

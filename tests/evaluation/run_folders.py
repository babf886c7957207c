"""Made-up folders as ``excise eval`` and ``excise eval-pairs`` write them, of any size."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SYSTEMS = ("frozen", "demote:oracle", "soft:oracle", "cut:oracle", "excise:oracle", "excise")
TIERS = ("T1", "T2", "T3")
METRICS = ("success@10", "hit@10", "leak@10", "leaked_documents@10", "ndcg@10", "xndcg@10", "recall@100", "fire_rate")
_STATUSES = ("kept", "penalised", "protected")
_WORDS = ("harbour", "lantern", "meadow", "copper", "violin", "saddle", "orchard", "compass", "glacier", "ribbon")


def write_suite(
    folder: Path,
    suite: str = "cars",
    systems: Sequence[str] = SYSTEMS,
    queries: int = 12,
    negatives: bool = True,
    title: str = "A {word} for the road",
) -> Path:
    """A run over a suite; one without negatives has no leaks and no tiers."""
    draw = random.Random(suite)
    folder.mkdir(parents=True)
    lines = []
    for number in range(queries):
        words = draw.sample(_WORDS, 3)
        for skill, system in enumerate(systems):
            lines.append(_line(draw, system, skill / len(systems), number, words, title, negatives))
    (folder / "per_query.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    groups = {tier: [line for line in lines if line["metadata"].get("tier") == tier] for tier in TIERS}
    means = _means(lines, systems)
    content = {
        "suite": suite,
        "split": "dev",
        "systems": means,
        "tiers": {tier: _means(own, systems) for tier, own in groups.items() if own},
        "intervals": {
            name: {metric: None if value is None else [value - 0.04, value + 0.04] for metric, value in own.items()}
            for name, own in means.items()
        },
        "significance": {name: _against(own, means[systems[0]]) for name, own in means.items() if name != systems[0]},
        "config": {"baseline": systems[0], "limit": None, "backbone": "minilm"},
    }
    (folder / "metrics.json").write_text(json.dumps(content))
    return folder


def write_pairs(folder: Path, systems: Sequence[str] = SYSTEMS) -> Path:
    """A run over a file of pairs."""
    folder.mkdir(parents=True)
    scores = {name: {"accuracy": 0.3 + 0.1 * place} for place, name in enumerate(systems)}
    (folder / "metrics.json").write_text(json.dumps({"suite": "boolean", "systems": scores}))
    (folder / "per_query.jsonl").write_text(json.dumps({"system": systems[0], "id": "p1", "holds": True}) + "\n")
    return folder


def _line(
    draw: random.Random, system: str, skill: float, number: int, words: list[str], title: str, negatives: bool
) -> dict[str, Any]:
    wanted, excluded, other = words
    text = f"{wanted} and {other}, but not {excluded}" if negatives else f"{wanted} and {other}"
    hit, leak = draw.random() < 0.9, negatives and draw.random() > skill
    labels = ["gold" if hit and rank == 2 else "excluded" if leak and rank == 1 else "neutral" for rank in range(1, 11)]
    topics = [{"text": excluded, "start": text.index(excluded), "end": len(text), "score": 1.0}] if negatives else []
    fired = negatives and system != "frozen"
    ndcg = 0.63 * hit - 0.02 * skill
    values = [float(hit and not leak), float(hit), float(leak), leak / 2, ndcg, ndcg - leak, float(hit), float(fired)]
    metrics: dict[str, float | None] = dict(zip(METRICS, values, strict=True))
    if not negatives:
        metrics.update({"leak@10": None, "leaked_documents@10": None})
    return {
        "system": system,
        "id": f"q{number}",
        "text": text,
        "metadata": {"tier": TIERS[number % 3], "excluded": [excluded]} if negatives else {},
        "fired": fired,
        "topics": topics if fired else [],
        "metrics": metrics,
        "top": [_hit(draw, rank, label, number, title, fired) for rank, label in enumerate(labels, 1)],
        "removed": [f"d{number}-99", f"d{number}-3"] if fired and not leak else [],
    }


def _hit(draw: random.Random, rank: int, label: str, number: int, title: str, fired: bool) -> dict[str, Any]:
    return {
        "rank": rank,
        "id": f"d{number}-{rank}",
        "title": title.format(word=_WORDS[(number * 7 + rank) % len(_WORDS)]),
        "score": 20 - rank - draw.random(),
        "frozen_rank": draw.choice([rank, rank, rank + 2, rank + 5]) if fired else rank,
        "evidence": draw.random() if fired else None,
        "status": draw.choice(_STATUSES) if fired else "kept",
        "label": label,
    }


def _means(lines: list[dict[str, Any]], systems: Sequence[str]) -> dict[str, dict[str, float | None]]:
    means: dict[str, dict[str, float | None]] = {}
    for name in systems:
        own = [line["metrics"] for line in lines if line["system"] == name]
        means[name] = {
            metric: None if own[0][metric] is None else sum(one[metric] for one in own) / len(own) for metric in METRICS
        }
    return means


def _against(own: dict[str, float | None], baseline: dict[str, float | None]) -> dict[str, dict[str, float]]:
    differences = {metric: own[metric] - baseline[metric] for metric in METRICS if own[metric] is not None}  # type: ignore[operator]
    return {
        metric: {"difference": d, "low": d - 0.05, "high": d + 0.05, "p_value": 0.001 if abs(d) > 0.05 else 0.4}
        for metric, d in differences.items()
    }

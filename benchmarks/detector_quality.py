"""How well a detector reads: what it fires on and what it finds, on queries that it was not trained on.

    python benchmarks/detector_quality.py --data DATA [--detector FOLDER] [--json FILE]

DATA is a folder of public query sets and suites (see docs/detector.md). Shares stand with Wilson's 95% interval. The
shipped detector's card says whether the probe files were part of its training; the dev families never are.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from excise.errors import BadCorpus
from excise.evaluation.measures.estimates import Estimate, proportion
from excise.suites.jsonlines import read_objects
from excise.topics.detector import Detector, load_detector
from excise.training.detector.examples import (
    Example,
    field_examples,
    located,
    own_examples,
    probe_examples,
    public_examples,
    short_examples,
)
from excise.training.detector.validation import span_match


class Line(NamedTuple):
    """One line of the table: the share of queries that fire and, where they should, what was found of their topics."""

    name: str
    queries: int
    fired: Estimate
    all_found: Estimate | None = None
    precision: float | None = None
    recall: float | None = None


def own_groups() -> Iterator[tuple[str, list[Example]]]:
    """The bundled dev families and the probe files, explicit, compound and implicit exclusions each together."""
    rows = [*(row for row in own_examples() if row.held_out), *probe_examples(True)]
    tiers = {"T1": "explicit", "T2": "implicit", "T3": "compound"}
    for tier, name in tiers.items():
        yield name, [row for row in rows if row.source in (f"own-{tier}", f"hard_fire-{tier}")]
        yield f"{name}, own dev", [row for row in rows if row.source == f"own-{tier}"]
    for source in ("trap-fire", "decoys_short", "decoys_long", "own-partner", "trap-nofire", "own-control"):
        yield source, [row for row in rows if row.source == source]


def field_groups() -> Iterator[tuple[str, list[Example]]]:
    """Pairs that no detector was trained on, from eight fields and short ones; their near-twins are to be mistaken."""
    rows = list(field_examples())
    for form in ("explicit", "operator", "implicit", "disjunctive", "mixed"):
        yield f"eight fields, {form}", [row for row in rows if row.form == form]
    yield "eight fields, near-twins", [row for row in rows if not row.fires]
    rows = list(short_examples())
    yield "short", [row for row in rows if row.fires]
    yield "short, near-twins", [row for row in rows if not row.fires]


def public_groups(data: Path) -> Iterator[tuple[str, list[Example]]]:
    """Ordinary queries and ExcluIR queries that were held out of training, ExcluIR dev and X-Bench dev."""
    held = [row for row in public_examples(data, 0) if row.held_out]
    for source in ("plain", "scifact", "nfcorpus", "excluir"):
        yield source, [row for row in held if row.source == source]
    yield "excluir dev", list(_suite(data / "excluir", "excluded_silver"))
    for name in ("xbench-scifact", "xbench-reuters"):
        rows = list(_suite(data / name, "excluded"))
        yield name, rows
        yield f"{name}, implicit", [row for row in rows if row.form == "implicit"]


def _suite(folder: Path, topics: str) -> Iterator[Example]:
    for _, row in read_objects(folder / "queries.jsonl", BadCorpus):
        meta = row["metadata"]
        if spans := located(row["text"], meta.get(topics) or ()):
            yield Example(row["text"], spans, folder.name, meta.get("form", "explicit"), True)


def measured(detector: Detector, name: str, rows: list[Example]) -> Line:
    """A line of the table."""
    detections = detector.detect([row.text for row in rows])
    fired = proportion(sum(detection.fired for detection in detections), len(rows))
    if not rows[0].fires:
        return Line(name, len(rows), fired)
    found = [span_match(row, one) for row, one in zip(rows, detections, strict=True) if one.fired]
    recall, precision, _ = np.mean(found, axis=0).tolist() if found else (0.0, 0.0, 0.0)
    whole = proportion(int(sum(every for _, _, every in found)), len(rows))
    return Line(name, len(rows), fired, whole, precision, recall)


def _row(line: Line) -> str:
    def share(value: Estimate | None) -> str:
        return "" if value is None else f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"

    def plain(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    cells = [line.name, str(line.queries), share(line.fired), share(line.all_found)]
    return " | ".join([*cells, plain(line.precision), plain(line.recall)])


def _lines(detector: Detector, groups: Iterable[tuple[str, list[Example]]]) -> Iterator[Line]:
    for name, rows in groups:
        if rows:
            line = measured(detector, name, rows)
            print(f"| {_row(line)} |", flush=True)
            yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of public query sets; without it, only what ships is read")
    parser.add_argument("--detector", type=Path, help="a detector's folder; by default the shipped one")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    detector = Detector.from_pretrained(options.detector) if options.detector else load_detector()
    print("| queries | number | fired | every topic found | characters right | characters found |")
    print("| --- | --- | --- | --- | --- | --- |")
    groups = [own_groups(), field_groups(), *([public_groups(options.data)] if options.data else [])]
    lines = list(_lines(detector, chain.from_iterable(groups)))
    if options.json:
        options.json.write_text(json.dumps([line._asdict() for line in lines], indent=1, default=vars) + "\n")


if __name__ == "__main__":
    main()

"""What detection costs, as a multiple of encoding the same query once.

    python benchmarks/detector_latency.py [--detector FOLDER] [--json]

Prints medians in milliseconds and their ratio within this run, for short and for long queries that mostly rule
something out, and for ordinary ones, which rule out nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from excise.encoders.backbone import Backbone, load_backbone
from excise.topics.detector import Detector, load_detector

SHORT = [
    "electric cars, but not Tesla",
    "string instruments -violin",
    "countries without an army",
    "what is antibiotic resistance",
    "horror novels, with Stephen King already read",
]
LONG = [
    "We are moving the whole family to the coast next spring and I have to find a school that takes both children. "
    "Everything on boarding schools has been sent to us twice by now, so please keep to day schools within reach of a "
    "railway station, with something about how they teach languages and what a place costs for a year.",
    "My grandmother kept bees for forty years and I would like to start with two hives behind the shed, where the lime "
    "trees are. What does a beginner need in the first year, how much honey can I expect, what mistakes are common?",
]
PLAIN = [
    "best hiking boots for wide feet",
    "what is antibiotic resistance",
    "how long does it take to charge an electric car at home",
    "recipes with lentils and rice",
    "symptoms of iron deficiency in children",
]


def medians(backbone: Backbone, detector: Detector, queries: Sequence[str], repeats: int) -> dict[str, float]:
    """The median milliseconds of both."""
    times: dict[str, list[float]] = {"encode": [], "detect": []}
    for repeat in range(repeats + 5):
        for query in queries:  # the two take turns, so that a busy machine slows both alike
            for name, call in (("encode", backbone.encode_query), ("detect", lambda q: detector.detect([q]))):
                start = time.perf_counter()
                call(query)
                if repeat >= 5:
                    times[name].append((time.perf_counter() - start) * 1000)
    return {name: statistics.median(spent) for name, spent in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--detector", type=Path, help="a detector's folder; by default the shipped one")
    parser.add_argument("--json", action="store_true", help="one JSON object in place of lines")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    backbone = load_backbone()
    detector = Detector.from_pretrained(options.detector) if options.detector else load_detector()
    groups = {"short": SHORT, "long": LONG, "ordinary": PLAIN}
    found = {name: medians(backbone, detector, queries, options.repeats) for name, queries in groups.items()}
    if options.json:
        print(json.dumps({"threads": options.threads, **found}))
        return
    for name, own in found.items():
        encode, detect = own["encode"], own["detect"]
        print(f"{name}: encode {encode:.2f} ms, detect {detect:.2f} ms: detect / encode = {detect / encode:.2f}")


if __name__ == "__main__":
    main()

"""What detection costs, as a multiple of encoding the same query once.

    python benchmarks/detector_latency.py

Prints medians in milliseconds and their ratio within this run.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from excise.encoders.backbone import load_backbone
from excise.topics.detector import load_detector

QUERIES = [
    "electric cars, but not Tesla",
    "string instruments -violin",
    "countries without an army",
    "what is antibiotic resistance",
    "horror novels, with Stephen King already read",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=40)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    backbone, detector = load_backbone(), load_detector()
    times: dict[str, list[float]] = {"encode": [], "detect": []}
    for repeat in range(options.repeats + 5):
        for query in QUERIES:  # the two take turns, so that a busy machine slows both alike
            for name, call in (("encode", backbone.encode_query), ("detect", lambda q: detector.detect([q]))):
                start = time.perf_counter()
                call(query)
                if repeat >= 5:
                    times[name].append((time.perf_counter() - start) * 1000)
    encode, detect = (statistics.median(times[name]) for name in ("encode", "detect"))
    print(f"encode {encode:.2f} ms, detect {detect:.2f} ms: detect / encode = {detect / encode:.2f}")


if __name__ == "__main__":
    main()

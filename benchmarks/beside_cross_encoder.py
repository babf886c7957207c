"""What an exclusion costs beside a cross-encoder that reads the same candidates.

    python benchmarks/beside_cross_encoder.py --index DIR --cross-encoder weights/ms-marco-MiniLM-L-12-v2 [--json]

Both rank the same shortlist of 100 in the same round: excise by the vectors that the index has, detection and the
encoding of query and topics included; the cross-encoder by reading each candidate's first window with the query.
Finding the shortlist is in neither.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

import torch
from sentence_transformers import CrossEncoder

import excise
from excise.engines.base import Found
from excise.search.pipeline import shortlisted
from firing_latency import QUERIES
from measuring import milliseconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--cross-encoder", type=Path, required=True)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON object in place of a line")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    operator, reader = excise.load(options.index), CrossEncoder(str(options.cross_encoder), device="cpu")
    pipeline, engine = operator.pipeline, operator.engine
    if engine is None:
        raise SystemExit(f"{options.index} holds no index.")
    times: dict[str, list[float]] = {"excise": [], "cross-encoder": []}
    for query, _ in (QUERIES[0], *QUERIES):
        query_vectors = pipeline.backbone.encode_query(query)
        found = engine.reader().search([query_vectors.vectors], options.candidates, vectors=True)[0]
        windows = [pipeline.backbone.windowing.cut(one.full_text)[0] for one in found.documents]

        def ours(query: str = query, found: Found = found) -> object:
            search = pipeline.encode(pipeline.detect([query]))[0]
            return pipeline.judge(search, shortlisted(found))

        def theirs(query: str = query, windows: list[str] = windows) -> object:
            return reader.predict([(query, window) for window in windows], show_progress_bar=False)

        for name, way in (("excise", ours), ("cross-encoder", theirs)):
            times[name].append(milliseconds(way))
    medians = {name: statistics.median(spent[1:]) for name, spent in times.items()}  # the first pays for late loading
    found_all = {"candidates": options.candidates, "threads": options.threads, "queries": len(QUERIES), **medians}
    if options.json:
        print(json.dumps(found_all))
    else:
        ratio = medians["cross-encoder"] / medians["excise"]
        print(", ".join(f"{name} {ms:,.0f} ms" for name, ms in medians.items()) + f": {ratio:.0f} times as much")


if __name__ == "__main__":
    main()

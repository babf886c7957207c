"""What the shipped projection (384 to 128 dimensions) costs in ordinary retrieval.

    python benchmarks/projection.py ../shared/data/scifact --split train --limit 200 --sample 800

Encodes the corpus once with the embedded encoder's own 384 dimensions, and ranks every query of the split with the full
vectors and with the projected ones. Prints nDCG@10 of both, and the difference with its interval.
"""

from __future__ import annotations

import argparse
import random
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from excise.encoders.backbone import PRESETS, Backbone
from excise.encoders.embedded import embedded_encoder
from excise.evaluation.measures.outcomes import by_query, outcomes_of
from excise.evaluation.measures.significance import compare
from excise.suites.suites import load_suite
from excise.vectors.maxsim import maxsim
from excise.vectors.ragged import Ragged, Vectors
from excise.vectors.windows import best_window


def projected(vectors: Vectors, rows: Vectors) -> Vectors:
    shorter = vectors.astype(np.float32) @ rows.T
    return shorter / np.linalg.norm(shorter, axis=1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite")
    parser.add_argument("--split", default="train")
    parser.add_argument("--limit", type=int, default=None, help="only the first so many queries")
    parser.add_argument("--sample", type=int, default=None, help="only the golds and so many other documents")
    options = parser.parse_args()
    suite = load_suite(options.suite, options.split, options.limit)
    backbone = Backbone("minilm-384", embedded_encoder(projected=False), PRESETS["minilm"])
    rows = load_file(Path(str(files("excise") / "models" / "minilm-projection.safetensors")))["linear.weight"]
    documents = list(suite.documents())
    if options.sample is not None:
        golds = {name for query in suite.queries for name in suite.qrels.get(query.id, {})}
        others = [document for document in documents if document.id not in golds]
        kept = golds | {document.id for document in random.Random(0).sample(others, min(options.sample, len(others)))}
        documents = [document for document in documents if document.id in kept]
    encoded = backbone.encode_documents(
        [document.full_text for document in documents],
        lambda share: print(f"\rencoding {share:.0%}", end="", file=sys.stderr),
    )
    full = encoded.windows
    short = Ragged(projected(full.vectors, rows).astype(np.float16), full.offsets)
    runs: dict[str, dict[str, list[str]]] = {"full": {}, "projected": {}}
    for number, query in enumerate(suite.queries, 1):
        vectors = backbone.encode_query(query.text).vectors
        for name, asked, store in (("full", vectors, full), ("projected", projected(vectors, rows), short)):
            scores = best_window(maxsim(asked, store), encoded.offsets)
            best = np.argsort(-scores, kind="stable")[:100]
            runs[name][query.id] = [documents[i].id for i in best]
        print(f"\rquery {number} of {len(suite.queries)}   ", end="", file=sys.stderr)
    outcomes = {name: by_query(outcomes_of(suite, run), "ndcg@10") for name, run in runs.items()}
    difference = compare(outcomes["projected"], outcomes["full"])
    print(f"\n{suite.name}, {len(suite.queries)} queries, {len(documents):,} documents")
    for name, values in outcomes.items():
        print(f"  nDCG@10 {name:10} {np.mean(list(values.values())):.4f}")
    print(f"  difference {difference.difference:+.4f} [{difference.low:+.4f}, {difference.high:+.4f}]")


if __name__ == "__main__":
    main()

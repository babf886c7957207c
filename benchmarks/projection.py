"""What token vectors cost in ordinary retrieval: the encoder's own 384 dimensions against fewer, and eight bits.

    python benchmarks/projection.py ../shared/data/excluir --split dev --sample 2000
    python benchmarks/projection.py ../shared/data/scifact --split train --limit 200 --sample 800

Encodes the corpus (or the judged documents and a sample) once with the embedded encoder's own dimensions, projects each
vector to the leading dimensions of a fitted projection, and ranks every query exactly with each. Prints bytes a token,
hit@10 and nDCG@10, and the difference of the latter from the full vectors with its interval.
"""

from __future__ import annotations

import argparse
import random
import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.encoders.backbone import PRESETS, Backbone
from excise.encoders.embedded import embedded_encoder
from excise.engines.local.vector_files import packed, token_bytes
from excise.evaluation.measures.outcomes import by_query, outcomes_of
from excise.evaluation.measures.significance import compare
from excise.suites.suites import Suite, load_suite
from excise.training.projection import fitted_rows
from excise.vectors.eight_bit import EightBitVectors
from excise.vectors.encoded import leading
from excise.vectors.maxsim import maxsim_many
from excise.vectors.ragged import Ragged, Vectors
from excise.vectors.windows import best_window

_TOGETHER = 256  # documents encoded and scored at a time


class Variant(NamedTuple):
    """A way to keep vectors: how many dimensions, in which format."""

    dimensions: int
    stored: str

    @property
    def name(self) -> str:
        return f"{self.dimensions} {self.stored}"


FULL = Variant(384, "f16")
VARIANTS = (FULL, Variant(384, "int8"), Variant(128, "f16"), *(Variant(d, "int8") for d in (128, 192, 248, 256)))


def as_stored(vectors: Vectors, variant: Variant) -> Vectors:
    files = packed(variant.stored, vectors)
    if variant.stored == "f16":
        return files["vectors.f16"]
    return EightBitVectors(files["vectors.i8"], files["scales.f16"][:, 0])[:]


def chosen_documents(suite: Suite, sample: int | None) -> list[Document]:
    documents = list(suite.documents())
    if sample is None:
        return documents
    judged = {name for query in suite.queries for name in suite.qrels.get(query.id, {})}
    others = [document.id for document in documents if document.id not in judged]
    wanted = judged | set(random.Random(0).sample(others, min(sample, len(others))))
    return [document for document in documents if document.id in wanted]


def scores_of(suite: Suite, documents: list[Document]) -> dict[Variant, NDArray[np.float32]]:
    """Every variant's MaxSim scores, queries by documents."""
    backbone = Backbone("minilm-384", embedded_encoder(projected=False), PRESETS["minilm"])
    rows = fitted_rows(FULL.dimensions)
    queries = [backbone.encode_query(query.text).vectors.astype(np.float32) @ rows.T for query in suite.queries]
    scores = {variant: np.empty((len(queries), len(documents)), dtype=np.float32) for variant in VARIANTS}
    for start in range(0, len(documents), _TOGETHER):
        batch = documents[start : start + _TOGETHER]
        encoded = backbone.encode_documents([document.full_text for document in batch])
        rotated = encoded.windows.vectors.astype(np.float32) @ rows.T
        for variant in VARIANTS:
            store = Ragged(as_stored(leading(rotated, variant.dimensions), variant), encoded.windows.offsets)
            found = maxsim_many([leading(query, variant.dimensions) for query in queries], store)
            for own, by_window in zip(scores[variant], found, strict=True):
                own[start : start + len(batch)] = best_window(by_window, encoded.offsets)
        print(f"\r{start + len(batch):,} of {len(documents):,} documents", end="", file=sys.stderr)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite")
    parser.add_argument("--split", default="train")
    parser.add_argument("--limit", type=int, default=None, help="only the first so many queries")
    parser.add_argument("--sample", type=int, default=None, help="only judged documents and so many others")
    options = parser.parse_args()
    suite = load_suite(options.suite, options.split, options.limit)
    documents = chosen_documents(suite, options.sample)
    outcomes = {}
    for variant, scores in scores_of(suite, documents).items():
        best = np.argsort(-scores, axis=1, kind="stable")[:, :100]
        run = {query.id: [documents[i].id for i in row] for query, row in zip(suite.queries, best, strict=True)}
        outcomes[variant] = outcomes_of(suite, run)
    print(f"\n{suite.name}, {len(suite.queries)} queries, {len(documents):,} documents")
    print("| vectors | bytes a token | hit@10 | nDCG@10 | against 384 f16 |\n| --- | --- | --- | --- | --- |")
    for variant, found in outcomes.items():
        hits, gains = (by_query(found, measure) for measure in ("hit@10", "ndcg@10"))
        lost = compare(gains, by_query(outcomes[FULL], "ndcg@10"))
        size = sum(token_bytes(variant.stored, variant.dimensions).values())
        means = " | ".join(f"{np.mean(list(values.values())):.4f}" for values in (hits, gains))
        print(f"| {variant.name} | {size} | {means} | {lost.difference:+.4f} [{lost.low:+.4f}, {lost.high:+.4f}] |")


if __name__ == "__main__":
    main()

"""How long an exact search takes, as a multiple of the bare matrix product that it cannot do without.

    python benchmarks/search_latency.py                  # 20,000 made-up documents of about 90 tokens
    python benchmarks/search_latency.py --index DIR      # a real index

Prints milliseconds per query (median) and ratios within this run; machines are noisy, ratios less so.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from excise.documents import Document
from excise.engines.local.engine import LocalEngine
from excise.vectors.encoded import EncodedDocuments, EncoderInfo
from excise.vectors.maxsim import maxsim
from excise.vectors.ragged import Ragged

DIMENSIONS = 128


def made_up_index(folder: Path, documents: int, tokens: int, seed: int) -> LocalEngine:
    engine = LocalEngine.create(folder, EncoderInfo("made-up", "0", DIMENSIONS, 200, 1000))
    rng = np.random.default_rng(seed)
    for start in range(0, documents, 1024):
        lengths = rng.integers(tokens // 2, tokens * 3 // 2, min(1024, documents - start))
        vectors = rng.standard_normal((int(lengths.sum()), DIMENSIONS), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        names = [Document(str(start + i), "made up") for i in range(len(lengths))]
        engine.add(names, EncodedDocuments(Ragged(vectors.astype(np.float16), offsets), np.arange(len(lengths) + 1)))
    return engine


def median_ms(call: Callable[[], object], repeats: int) -> float:
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def measure(engine: LocalEngine, query_tokens: int, repeats: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    reader = engine.reader()
    dimensions = reader.encoder.dimensions
    query = rng.standard_normal((query_tokens, dimensions)).astype(np.float32)
    query /= np.linalg.norm(query, axis=1, keepdims=True)
    windows = [part.segment.windows for part in reader.parts]
    tokens = sum(len(ragged.vectors) for ragged in windows)
    block = torch.randn(65_536, dimensions)
    asked = torch.from_numpy(query)
    product = median_ms(lambda: [asked @ block.T for _ in range(tokens // len(block) + 1)], repeats)
    search = median_ms(lambda: reader.search([query], 100), repeats)
    in_numpy = median_ms(lambda: [maxsim(query, ragged, "numpy") for ragged in windows], max(1, repeats // 3))
    print(f"{len(reader):,} documents, {tokens:,} tokens, a query of {query_tokens} tokens, k=100")
    print(f"  search                 {search:8.1f} ms")
    print(f"  bare product           {product:8.1f} ms   search / product = {search / product:.2f}")
    print(f"  MaxSim in numpy        {in_numpy:8.1f} ms   numpy / torch    = {in_numpy / search:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--tokens", type=int, default=90)
    parser.add_argument("--query-tokens", type=int, nargs="+", default=[12, 32])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        made_up = Path(folder) / "index"
        engine = (
            LocalEngine.open(options.index)
            if options.index
            else made_up_index(made_up, options.documents, options.tokens, options.seed)
        )
        for tokens in options.query_tokens:
            measure(engine, tokens, options.repeats, options.seed)


if __name__ == "__main__":
    main()

"""MaxSim over a block of candidates: ours, maxsim-cpu, a torch loop over documents, and a loop compiled by numba.

    python benchmarks/maxsim_kernels.py --documents 256 --tokens 108 --query-tokens 29

Vectors are stored in eight bits, as an index has them; what a kernel needs them widened for is part of its time.
Packages that are not installed (``pip install maxsim-cpu numba``) are left out, and so is maxsim-cpu 0.1 beyond 128
dimensions, where it crashes. All get the same number of threads. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from excise.engines.local.vector_files import EIGHT_FILE, SCALE_FILE, packed
from excise.vectors.eight_bit import EightBitVectors
from excise.vectors.maxsim import maxsim
from excise.vectors.ragged import Ragged, Vectors, starts

Kernel = Callable[[], Any]


def made_up(documents: int, tokens: int, query_tokens: int, dimensions: int) -> tuple[Vectors, Ragged]:
    rng = np.random.default_rng(0)
    lengths = rng.integers(tokens // 2, tokens * 3 // 2, documents)
    vectors = rng.standard_normal((int(lengths.sum()) + query_tokens, dimensions), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stored = packed("int8", vectors[query_tokens:])
    eight = EightBitVectors(stored[EIGHT_FILE], stored[SCALE_FILE].ravel())
    return vectors[:query_tokens], Ragged(cast(Vectors, eight), starts(lengths))


def torch_loop(query: Vectors, documents: Ragged) -> NDArray[np.float32]:
    asked = torch.from_numpy(query)
    own = (torch.from_numpy(documents[i]) for i in range(len(documents)))
    return np.array([float((asked @ one.T).max(dim=1).values.sum()) for one in own], dtype=np.float32)


def compiled() -> Callable[[Vectors, Vectors, NDArray[np.int64]], NDArray[np.float32]]:
    import numba

    @numba.njit(fastmath=True, parallel=True)
    def scores(query, vectors, offsets):  # type: ignore[no-untyped-def]
        total = np.zeros(len(offsets) - 1, dtype=np.float32)
        for document in numba.prange(len(offsets) - 1):
            for token in range(query.shape[0]):
                best = np.float32(-1e30)
                for row in range(offsets[document], offsets[document + 1]):
                    product = np.float32(0)
                    for dimension in range(query.shape[1]):
                        product += query[token, dimension] * vectors[row, dimension]
                    best = max(best, product)
                total[document] += best
        return total

    return scores  # type: ignore[no-any-return]


def kernels(query: Vectors, documents: Ragged) -> dict[str, Kernel]:
    found: dict[str, Kernel] = {
        "excise": lambda: maxsim(query, documents),
        "torch, a loop over documents": lambda: torch_loop(query, documents),
    }
    if find_spec("maxsim_cpu") and query.shape[1] <= 128:
        import maxsim_cpu

        def packaged() -> Any:
            wide = documents.vectors[:]
            bounds = documents.offsets.tolist()
            return maxsim_cpu.maxsim_scores_variable(query, [wide[a:b] for a, b in pairwise(bounds)])

        found["maxsim-cpu"] = packaged
    if find_spec("numba"):
        scores = compiled()
        found["numba"] = lambda: scores(query, documents.vectors[:], documents.offsets)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=108)
    parser.add_argument("--query-tokens", type=int, default=29)
    parser.add_argument("--dimensions", type=int, default=248)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name in ("NUMBA_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    query, documents = made_up(options.documents, options.tokens, options.query_tokens, options.dimensions)
    times: dict[str, list[float]] = {}
    all_kernels = kernels(query, documents)
    expected = maxsim(query, documents)
    for name, kernel in all_kernels.items():
        if not np.allclose(kernel(), expected, atol=1e-3):  # also compiles it
            raise SystemExit(f"{name} computes something else")
    for _ in range(options.repeats):  # in turn, so that other work on the machine falls on all alike
        for name, kernel in all_kernels.items():
            start = time.perf_counter()
            kernel()
            times.setdefault(name, []).append((time.perf_counter() - start) * 1000)
    print(json.dumps({name: statistics.median(own) for name, own in times.items()}))


if __name__ == "__main__":
    main()

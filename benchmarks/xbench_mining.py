"""How long mining takes at 50,000 documents, and how it grows: random vectors of 128 dimensions, one run.

python benchmarks/xbench_mining.py
"""

from __future__ import annotations

import time

import numpy as np

from excise.xbench.mining import Band, mine

DOCUMENTS, DIMENSIONS = 50_000, 128


def seconds(means: np.ndarray, anchors: int | None) -> tuple[float, int]:
    start = time.perf_counter()
    pairs = mine(means, [str(i) for i in range(len(means))], Band(), anchors=anchors)
    return time.perf_counter() - start, len(pairs)


def main() -> None:
    random = np.random.default_rng(0)
    means = random.standard_normal((DOCUMENTS, DIMENSIONS), dtype=np.float32)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    start = time.perf_counter()
    for row in range(0, DOCUMENTS, 512):
        means[row : row + 512] @ means.T
    product = time.perf_counter() - start
    print(f"the matrix product alone: {product:.1f} s")
    few, found = seconds(means, 1_000)
    print(f"1,000 anchors: {few:.1f} s, {found:,} pairs")
    every, found = seconds(means, None)
    print(f"every document an anchor: {every:.1f} s, {found:,} pairs, {every / product:.1f} times the product alone")


if __name__ == "__main__":
    main()

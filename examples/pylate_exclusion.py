"""PyLate's results with exclusions: list[list[{"id", "score"}]] in and out.

python examples/pylate_exclusion.py
Where PyLate is installed, `results` comes from its retriever:
    results = retriever.retrieve(queries_embeddings=model.encode(queries, is_query=True), k=100)
"""

from __future__ import annotations

import excise
from excise.integrations.pylate import rerank_results

TEXTS = {
    "y": "Tesla Model Y. The Tesla Model Y is an electric crossover that Tesla makes in Berlin.",
    "leaf": "Nissan Leaf. The Nissan Leaf is an electric hatchback made in Sunderland.",
    "zoe": "Renault Zoe. The Renault Zoe is a small electric car, sold until 2024.",
    "three": "Tesla Model 3. The Tesla Model 3 is an electric sedan; Tesla sells it worldwide.",
    "dolphin": "BYD Dolphin. The Dolphin is an electric hatchback from China.",
    "ami": "Citroën Ami. The Ami is an electric quadricycle for two people.",
}


def main() -> None:
    queries = ["electric cars", "electric cars, but not Tesla"]
    results = [[{"id": id, "score": 27.5 - place} for place, id in enumerate(TEXTS)] for _ in queries]
    for query, found in zip(queries, rerank_results(excise.load(), queries, results, TEXTS), strict=True):
        print(f"{query}: {found}")


if __name__ == "__main__":
    main()

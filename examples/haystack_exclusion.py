"""A Haystack pipeline with exclusions: ExciseRanker behind BM25.

pip install 'excise[haystack]', then: python examples/haystack_exclusion.py ["electric cars, but not Tesla"]
"""

from __future__ import annotations

import sys

from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from excise.integrations.haystack import ExciseRanker

CARS = {
    "Tesla Model Y": "The Tesla Model Y is an electric crossover that Tesla makes in Berlin.",
    "Nissan Leaf": "The Nissan Leaf is an electric hatchback made in Sunderland.",
    "Renault Zoe": "The Renault Zoe is a small electric car, sold until 2024.",
    "Tesla Model 3": "The Tesla Model 3 is an electric sedan; Tesla sells it worldwide.",
    "BYD Dolphin": "The Dolphin is an electric hatchback from China.",
    "Citroën Ami": "The Ami is an electric quadricycle for two people.",
}


def main() -> None:
    query = sys.argv[1] if len(sys.argv) > 1 else "electric cars, but not Tesla"
    store = InMemoryDocumentStore()
    store.write_documents([Document(content=text, meta={"title": title}) for title, text in CARS.items()])
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=6))  # more than are wanted in the end
    pipeline.add_component("excise", ExciseRanker(top_k=4))
    pipeline.connect("retriever.documents", "excise.documents")
    found = pipeline.run({"retriever": {"query": query}, "excise": {"query": query}})["excise"]
    for what in ("removed", "documents"):
        print(f"{what}:", *(document.meta["title"] for document in found[what]), sep="\n  ")


if __name__ == "__main__":
    main()

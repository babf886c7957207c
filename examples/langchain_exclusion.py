"""A LangChain retriever with exclusions: ExciseRetriever behind a vector store.

pip install 'excise[langchain]', then: python examples/langchain_exclusion.py ["electric cars, but not Tesla"]
"""

from __future__ import annotations

import sys
import zlib

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

import excise
from excise.integrations.langchain import ExciseRetriever

CARS = {
    "Tesla Model Y": "The Tesla Model Y is an electric crossover that Tesla makes in Berlin.",
    "Nissan Leaf": "The Nissan Leaf is an electric hatchback made in Sunderland.",
    "Renault Zoe": "The Renault Zoe is a small electric car, sold until 2024.",
    "Tesla Model 3": "The Tesla Model 3 is an electric sedan; Tesla sells it worldwide.",
    "BYD Dolphin": "The Dolphin is an electric hatchback from China.",
    "Citroën Ami": "The Ami is an electric quadricycle for two people.",
}


class WordCounts(Embeddings):
    """Stands in for your embeddings: counts of words, hashed into 256 places."""

    def embed_query(self, text: str) -> list[float]:
        counts = [0.01] * 256
        for word in text.lower().replace(",", " ").replace(".", " ").split():
            counts[zlib.crc32(word.encode()) % 256] += 1
        return counts

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def main() -> None:
    query = sys.argv[1] if len(sys.argv) > 1 else "electric cars, but not Tesla"
    store = InMemoryVectorStore(WordCounts())
    store.add_documents([Document(text, metadata={"title": title}) for title, text in CARS.items()])
    retriever = ExciseRetriever(
        operator=excise.load(),
        retriever=store.as_retriever(search_kwargs={"k": 6}),  # more than are wanted in the end
        k=4,
        on_removed=lambda _, gone: print("removed:", *(one.metadata["title"] for one in gone), sep="\n  "),
    )
    found = retriever.invoke(query)
    print("found:", *(document.metadata["title"] for document in found), sep="\n  ")


if __name__ == "__main__":
    main()

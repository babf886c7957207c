"""A LlamaIndex query engine with exclusions: ExcisePostprocessor behind a vector index.

pip install 'excise[llamaindex]', then: python examples/llamaindex_exclusion.py ["electric cars, but not Tesla"]
"""

from __future__ import annotations

import sys
import zlib

from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms.mock import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode

import excise
from excise.integrations.llamaindex import ExcisePostprocessor

CARS = {
    "Tesla Model Y": "The Tesla Model Y is an electric crossover that Tesla makes in Berlin.",
    "Nissan Leaf": "The Nissan Leaf is an electric hatchback made in Sunderland.",
    "Renault Zoe": "The Renault Zoe is a small electric car, sold until 2024.",
    "Tesla Model 3": "The Tesla Model 3 is an electric sedan; Tesla sells it worldwide.",
    "BYD Dolphin": "The Dolphin is an electric hatchback from China.",
    "Citroën Ami": "The Ami is an electric quadricycle for two people.",
}


class WordCounts(BaseEmbedding):
    """Stands in for your embedding model: counts of words, hashed into 256 places."""

    def _get_text_embedding(self, text: str) -> list[float]:
        counts = [0.01] * 256
        for word in text.lower().replace(",", " ").replace(".", " ").split():
            counts[zlib.crc32(word.encode()) % 256] += 1
        return counts

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def main() -> None:
    query = sys.argv[1] if len(sys.argv) > 1 else "electric cars, but not Tesla"
    Settings.llm = MockLLM()  # in place of your own; "no_text" asks it nothing
    nodes = [TextNode(text=text, metadata={"title": title}) for title, text in CARS.items()]
    index = VectorStoreIndex(nodes, embed_model=WordCounts())
    postprocessor = ExcisePostprocessor(
        operator=excise.load(),
        top_n=4,
        on_removed=lambda _, gone: print("removed:", *(one.node.metadata["title"] for one in gone), sep="\n  "),
    )
    engine = RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=6),  # more than are wanted in the end
        response_mode="no_text",
        node_postprocessors=[postprocessor],
    )
    found = engine.query(query).source_nodes
    print("found:", *(node.metadata["title"] for node in found), sep="\n  ")


if __name__ == "__main__":
    main()

"""LlamaIndex: a node postprocessor for any retriever or query engine."""

from __future__ import annotations

from collections.abc import Callable

from excise.errors import InvalidInput
from excise.extras import need
from excise.integrations.first_stage import METADATA_KEY, Candidate, Verdict, sift
from excise.search.operator import Excise

need("the LlamaIndex drop-in", "llamaindex", "llama_index")

from llama_index.core.bridge.pydantic import Field  # noqa: E402
from llama_index.core.postprocessor.types import BaseNodePostprocessor  # noqa: E402
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle  # noqa: E402


class ExcisePostprocessor(BaseNodePostprocessor):
    """Takes what a query excludes out of the nodes that any retriever found.

    A query that excludes nothing gets the very same nodes back, in their order. Else nodes are copies with their status
    in ``metadata["excise"]`` (which neither language models nor embeddings get to see), in the order that they came in,
    less what was removed.

    Parameters
    ----------
    operator
        what judges: ``excise.load()``. It needs no index.
    exclude
        topics to rule out in every query; None lets the detector read them from each.
    top_n
        how many nodes are kept at most.
    title_key
        where metadata has a node's title.
    on_removed
        called with the query and the nodes that were removed.

    Examples
    --------
    >>> import excise
    >>> from llama_index.core.schema import TextNode
    >>> cars = ["The Tesla Model 3 is an electric sedan.", "The Nissan Leaf is an electric hatchback.",
    ...         "The Renault Zoe is a small electric car.", "BYD's Dolphin is an electric hatchback."]
    >>> nodes = [NodeWithScore(node=TextNode(text=text), score=0.9) for text in cars]
    >>> found = ExcisePostprocessor(operator=excise.load()).postprocess_nodes(
    ...     nodes, query_str="electric cars, but not Tesla")
    >>> [node.text.split()[1] for node in found]
    ['Nissan', 'Renault', 'Dolphin']
    """

    operator: Excise = Field(exclude=True)
    exclude: list[str] | str | None = None
    top_n: int | None = None
    title_key: str = "title"
    on_removed: Callable[[str, list[NodeWithScore]], None] | None = Field(default=None, exclude=True)

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex knows it."""
        return "ExcisePostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise InvalidInput("exclusions are read from the query: hand it over as query_str or query_bundle.")
        query = query_bundle.query_str
        sifted = sift(self.operator, query, [self._candidate(node) for node in nodes], self.exclude, self.top_n)
        if sifted is None:
            return nodes if self.top_n is None or self.top_n >= len(nodes) else nodes[: self.top_n]
        if self.on_removed is not None and sifted.removed:
            self.on_removed(query, [_marked(nodes[one.position], one) for one in sifted.removed])
        return [_marked(nodes[one.position], one) for one in sifted.kept]

    def _candidate(self, found: NodeWithScore) -> Candidate:
        title = found.node.metadata.get(self.title_key)
        text = found.node.get_content(metadata_mode=MetadataMode.NONE)
        return Candidate(text, title if isinstance(title, str) else "", found.score)


def _marked(found: NodeWithScore, verdict: Verdict) -> NodeWithScore:
    """A copy of a node with its verdict; what the first stage returned is never written to."""
    node = found.node
    hidden = {
        name: [*getattr(node, name), METADATA_KEY]
        for name in ("excluded_llm_metadata_keys", "excluded_embed_metadata_keys")
    }
    metadata = {**node.metadata, METADATA_KEY: verdict.as_dict()}
    return NodeWithScore(node=node.model_copy(update={**hidden, "metadata": metadata}), score=verdict.score)

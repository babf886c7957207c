"""The drop-in for LlamaIndex, in LlamaIndex's own hands."""

from __future__ import annotations

import asyncio
import copy

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")

from cars import CARS, CLEAR, EXCLUDING, PLAIN
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms.mock import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import CompactAndRefine
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

from excise.errors import InvalidInput
from excise.integrations.llamaindex import ExcisePostprocessor
from excise.search.operator import Excise


def found(scored: bool = True) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=TextNode(id_=car.id, text=car.text, metadata={"title": car.title}),
            score=car.score if scored else None,
        )
        for car in CARS
    ]


def ids(nodes: list[NodeWithScore]) -> list[str]:
    return [node.node_id for node in nodes]


@pytest.mark.parametrize("scored", [True, False])
def test_what_is_excluded_is_taken_out(judge: Excise, scored: bool) -> None:
    nodes = found(scored)
    before = copy.deepcopy(nodes)
    kept = ExcisePostprocessor(operator=judge).postprocess_nodes(nodes, query_str=EXCLUDING)
    assert ids(kept) == list(CLEAR)
    assert [node.score for node in kept] == [car.score if scored else None for car in CARS if not car.excluded]
    assert all(node.metadata["excise"]["status"] == "kept" for node in kept)
    assert nodes == before


def test_language_models_and_embeddings_see_what_they_saw_before(judge: Excise) -> None:
    before = {node.node_id: node.node for node in found()}
    for node in ExcisePostprocessor(operator=judge).postprocess_nodes(found(), query_str=EXCLUDING):
        for mode in (MetadataMode.LLM, MetadataMode.EMBED):
            assert node.node.get_content(mode) == before[node.node_id].get_content(mode)


def test_without_an_exclusion_the_same_nodes_come_back(judge: Excise) -> None:
    nodes = found()
    assert ExcisePostprocessor(operator=judge).postprocess_nodes(nodes, QueryBundle(PLAIN)) is nodes
    cut = ExcisePostprocessor(operator=judge, top_n=2).postprocess_nodes(nodes, QueryBundle(PLAIN))
    assert cut[0] is nodes[0]
    assert len(cut) == 2
    assert ExcisePostprocessor(operator=judge).postprocess_nodes([], QueryBundle(EXCLUDING)) == []


def test_what_was_removed_is_told(judge: Excise) -> None:
    told: list[tuple[str, list[NodeWithScore]]] = []
    postprocessor = ExcisePostprocessor(
        operator=judge, exclude=["Tesla"], top_n=1, on_removed=lambda query, gone: told.append((query, gone))
    )
    assert ids(postprocessor.postprocess_nodes(found(), query_str=PLAIN)) == ["leaf"]
    [(query, gone)] = told
    assert query == PLAIN
    assert set(ids(gone)) == {"y", "three"}


class Shelf(BaseRetriever):
    """A first stage that finds the same nodes for every query."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        assert query_bundle.query_str
        return found()


def test_in_a_query_engine(judge: Excise) -> None:
    """The model's prompt holds what stays and nothing of what was removed. The mock model repeats its prompt."""
    engine = RetrieverQueryEngine(
        Shelf(),
        response_synthesizer=CompactAndRefine(llm=MockLLM()),
        node_postprocessors=[ExcisePostprocessor(operator=judge)],
    )
    for answer in (engine.query(EXCLUDING), asyncio.run(engine.aquery(EXCLUDING))):
        assert ids(answer.source_nodes) == list(CLEAR)
        assert "Nissan Leaf" in str(answer)
        assert "Model Y" not in str(answer)
        assert "excise" not in str(answer)
    assert "Model Y" in str(engine.query(PLAIN))


def test_its_settings_can_be_written(judge: Excise) -> None:
    plain = ExcisePostprocessor(operator=judge, exclude=["Tesla"], top_n=3).to_dict()
    assert plain["class_name"] == "ExcisePostprocessor"
    assert (plain["exclude"], plain["top_n"]) == (["Tesla"], 3)
    assert "operator" not in plain


def test_a_query_is_needed(judge: Excise) -> None:
    with pytest.raises(InvalidInput, match="read from the query"):
        ExcisePostprocessor(operator=judge).postprocess_nodes(found())

"""The MCP server as an assistant meets it: a real client, a real process, stdio between them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from cars import CARS, CLEAR, EXCLUDING, PLAIN
from mcp import Client, StdioServerParameters, stdio_client

from excise.encoders.backbone import Backbone
from excise.errors import InvalidInput
from excise.integrations.mcp import MOST_TEXT, mcp_server
from excise.search.operator import Excise, load

LONG = "The Trabant was a small car. " * 500


@pytest.fixture(scope="module")
def index(minilm: Backbone, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mcp") / "index"
    records = [{"id": car.id, "title": car.title, "text": car.text} for car in CARS]
    load(backbone=minilm).index([*records, {"id": "trabant", "text": LONG}], folder)
    return folder


def over_stdio(index: Path, talk: Callable[[Client], Awaitable[None]], *options: str, mode: str = "auto") -> None:
    """Start ``excise mcp`` as assistants do, and talk to it."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "excise", "mcp", "--index", str(index), *options]
    )

    async def session() -> None:
        async with Client(stdio_client(server), mode=mode, read_timeout_seconds=300) as client:
            await talk(client)

    asyncio.run(session())


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return " ".join(getattr(part, "text", "") for part in answer.content)


def test_an_assistant_searches_with_exclusions(index: Path) -> None:
    async def talk(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"search", "detect", "explain"}
        for tool in tools.values():
            assert tool.description
            assert tool.input_schema["required"] == ["query"]
        excluding = await ask(client, "search", query=EXCLUDING, k=5)
        assert {hit["id"] for hit in excluding["hits"]} == {*CLEAR, "trabant"}
        assert {one["id"] for one in excluding["removed"]} == {"y", "three"}
        assert [topic["text"] for topic in excluding["topics"]] == ["Tesla"]
        named = await ask(client, "search", query=PLAIN, k=4, exclude=["Tesla"])
        assert {one["id"] for one in named["removed"]} == {"y", "three"}
        plain = await ask(client, "search", query=EXCLUDING, exclude=[])
        assert (plain["fired"], plain["removed"], len(plain["hits"])) == (False, [], 7)
        [long] = [hit for hit in plain["hits"] if hit["id"] == "trabant"]
        assert len(long["text"]) <= MOST_TEXT

    over_stdio(index, talk)


def test_an_assistant_asks_what_a_query_excludes_and_why(index: Path) -> None:
    async def talk(client: Client) -> None:
        read = await ask(client, "detect", query=EXCLUDING)
        assert read["fired"] is True
        assert [EXCLUDING[topic["start"] : topic["end"]] for topic in read["topics"]] == ["Tesla"]
        assert (await ask(client, "detect", query=PLAIN))["fired"] is False
        told = await ask(client, "explain", query=EXCLUDING)
        judged = {one["id"]: one for one in told["candidates"]}
        assert told["judged"] == len(judged) == 7
        assert judged["y"]["status"] == "removed"
        assert judged["y"]["evidence"] > judged["leaf"]["evidence"]
        [one] = (await ask(client, "explain", query=EXCLUDING, id="three"))["candidates"]
        assert one == judged["three"]
        assert len((await ask(client, "explain", query=EXCLUDING, k=2))["candidates"]) == 2
        assert (await ask(client, "explain", query=PLAIN))["candidates"] == []

    over_stdio(index, talk, "--preset", "cautious")


def test_bad_calls_are_sentences_and_the_server_goes_on(index: Path) -> None:
    async def talk(client: Client) -> None:
        assert "query is empty" in await refusal(client, "search", query=" ")
        assert "2,000 words" in await refusal(client, "detect", query="word " * 2_000)
        assert "excluded topic" in await refusal(client, "search", query=PLAIN, exclude=[" "])
        assert "'nowhere' is not among the 7 candidates" in await refusal(
            client, "explain", query=EXCLUDING, id="nowhere"
        )
        for arguments in ({"query": PLAIN, "k": 0}, {"query": PLAIN, "k": 10_000}, {"query": 7}, {}):
            assert "search" in await refusal(client, "search", **arguments)
        assert len((await ask(client, "search", query=PLAIN))["hits"]) == 7

    over_stdio(index, talk)


def test_a_client_of_the_older_protocol_is_served(index: Path) -> None:
    async def talk(client: Client) -> None:
        assert len((await ask(client, "search", query=PLAIN, k=3))["hits"]) == 3

    over_stdio(index, talk, mode="legacy")


def test_searches_at_the_same_time(garage: Excise) -> None:
    async def session() -> list[dict[str, Any]]:
        async with Client(mcp_server(garage)) as client:
            return await asyncio.gather(*(ask(client, "search", query=query) for query in [PLAIN, EXCLUDING] * 4))

    answers = asyncio.run(session())
    for answer, query in zip(answers, [PLAIN, EXCLUDING] * 4, strict=True):
        assert [hit["id"] for hit in answer["hits"]] == [hit.id for hit in garage.search(query).hits]


def test_a_server_needs_an_index(judge: Excise) -> None:
    with pytest.raises(InvalidInput, match="searches an index"):
        mcp_server(judge)

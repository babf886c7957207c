"""An MCP server over an index: an assistant searches with exclusions, sees what was removed, and may ask why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any

from excise import __version__
from excise.errors import ExciseError, InvalidInput
from excise.extras import need
from excise.search.operator import Excise

need("the MCP server", "mcp", "mcp")

from mcp.server.mcpserver import MCPServer  # noqa: E402
from mcp.server.mcpserver.exceptions import ToolError  # noqa: E402
from mcp.types import ToolAnnotations  # noqa: E402
from pydantic import Field  # noqa: E402

MOST_HITS = 50
MOST_TEXT = 2_000  # characters of a hit's text: an assistant reads all that it is given
INSTRUCTIONS = """Search one collection of documents with queries that may exclude topics ("electric cars, but not \
Tesla"). Exclusions are read from the query; or name them in `exclude`. What covers an excluded topic is left out of \
`hits` and listed in `removed`, with its passage where there is one."""

Query = Annotated[str, Field(description='What to look for, in plain words; it may exclude: "X, but not Z".')]
Exclude = Annotated[
    list[str] | None,
    Field(description="Topics to rule out. Leave it away to have them read from the query; [] rules nothing out."),
]
Most = Annotated[int, Field(description="How many documents to return.", ge=1, le=MOST_HITS)]


def mcp_server(operator: Excise, name: str = "excise") -> MCPServer[Any]:
    """A server with the tools ``search``, ``detect`` and ``explain``, ready to run.

    Parameters
    ----------
    operator
        what searches, open on an index.
    name
        the name under which clients see the server.

    Examples
    --------
    >>> import asyncio, excise
    >>> search = excise.load()
    >>> report = search.index([{"id": "leaf", "text": "The Nissan Leaf is an electric hatchback."}])
    >>> [tool.name for tool in asyncio.run(mcp_server(search).list_tools())]
    ['search', 'detect', 'explain']
    """
    if operator.engine is None:
        raise InvalidInput("the MCP server searches an index: open one with excise.load(folder).")
    server: MCPServer[Any] = MCPServer(name, version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)

    @server.tool(annotations=reads)
    def search(query: Query, k: Most = 10, exclude: Exclude = None) -> dict[str, Any]:
        """Search the documents. Returns hits, best first, and what was removed because it covers an excluded topic."""
        with _sentences():
            plain = operator.search(query, k, exclude).to_dict()
        for hit in plain["hits"]:
            hit["text"] = _cut(hit["text"])
        return plain

    @server.tool(annotations=reads)
    def detect(query: Query) -> dict[str, Any]:
        """Tell what a query excludes, without searching: whether anything, how sure that is, and which words say so."""
        with _sentences():
            return operator.pipeline.detect([query])[0].to_dict()

    @server.tool(annotations=reads)
    def explain(
        query: Query,
        exclude: Exclude = None,
        k: Most = 20,
        id: Annotated[str | None, Field(description="Only the document with this id.")] = None,
    ) -> dict[str, Any]:
        """Tell how each candidate of a search was judged, in the order before exclusions: its status (kept, mentions,
        doubtful, penalised, protected or removed), its evidence for the excluded topics, and the passage that tells."""
        with _sentences():
            return _explained(operator, query, exclude, k, id)

    return server


def _explained(operator: Excise, query: str, exclude: Sequence[str] | None, k: int, id: str | None) -> dict[str, Any]:
    result = operator.search(query, MOST_HITS, exclude)
    topics = [topic.text for topic in result.topics]
    if result.explanation is None:  # nothing is excluded, or nothing was found
        return {"query": result.query, "fired": result.fired, "topics": topics, "candidates": []}
    judged = [one for one in result.explanation.candidates if id is None or one.id == id]
    if not judged:
        raise InvalidInput(f"{id!r} is not among the {len(result.explanation.candidates)} candidates of this query.")
    candidates = [{name: value for name, value in asdict(one).items() if value is not None} for one in judged[:k]]
    told = result.explanation
    return {
        "query": result.query,
        "fired": True,
        "topics": topics,
        "branch": told.branch,
        "cut": told.cut,
        "judged": len(told.candidates),
        "candidates": candidates,
    }


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1].rstrip() + "…"


@contextmanager
def _sentences() -> Iterator[None]:
    """What excise refuses is a sentence for the assistant, not a crash of the server."""
    try:
        yield
    except ExciseError as error:
        raise ToolError(str(error)) from error

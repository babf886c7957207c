"""An MCP client that searches an excise index: what an assistant does when it is given `excise mcp` as a server.

pip install 'excise[mcp]', then: python examples/mcp_client.py my-index ["electric cars, but not Tesla"]
"""

from __future__ import annotations

import asyncio
import sys

from mcp import Client, StdioServerParameters, stdio_client


async def ask(index: str, query: str) -> None:
    server = StdioServerParameters(command=sys.executable, args=["-m", "excise", "mcp", "--index", index])
    async with Client(stdio_client(server)) as client:
        print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        answer = await client.call_tool("search", {"query": query, "k": 3})
        if answer.is_error or answer.structured_content is None:
            raise SystemExit(" ".join(getattr(part, "text", "") for part in answer.content))
        print("excluded:", ", ".join(topic["text"] for topic in answer.structured_content["topics"]) or "nothing")
        for what in ("removed", "hits"):
            print(f"{what}:", *(one["title"] or one["id"] for one in answer.structured_content[what]), sep="\n  ")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    asyncio.run(ask(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "electric cars, but not Tesla"))

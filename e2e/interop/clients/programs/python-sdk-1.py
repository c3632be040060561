import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def main():
    async with streamablehttp_client(sys.argv[1]) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            result = await session.call_tool("everything_echo", {"message": "hello"})
            print(json.dumps({"tools": [tool.name for tool in tools], "echo": result.content[0].text}))


asyncio.run(main())

import asyncio
import json
import sys

from agents.mcp import MCPServerStreamableHttp


async def main():
    async with MCPServerStreamableHttp(params={"url": sys.argv[1]}) as server:
        tools = await server.list_tools()
        result = await server.call_tool("everything_echo", {"message": "hello"})
        print(json.dumps({"tools": [tool.name for tool in tools], "echo": result.content[0].text}))


asyncio.run(main())

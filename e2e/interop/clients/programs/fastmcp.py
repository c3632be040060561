import asyncio
import json
import sys

from fastmcp import Client


async def main():
    async with Client(sys.argv[1]) as client:
        tools = await client.list_tools()
        result = await client.call_tool("everything_echo", {"message": "hello"})
        print(json.dumps({"tools": [tool.name for tool in tools], "echo": result.content[0].text}))


asyncio.run(main())

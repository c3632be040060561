import asyncio
import json
import sys

from mcp import Client


async def main():
    for mode in ["legacy", "auto"]:
        async with Client(sys.argv[1], mode=mode) as client:
            tools = (await client.list_tools()).tools
            result = await client.call_tool("everything_echo", {"message": "hello"})
            names = [tool.name for tool in tools]
            print(json.dumps({"name": client.protocol_version, "tools": names, "echo": result.content[0].text}))


asyncio.run(main())

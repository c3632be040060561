import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main():
    client = MultiServerMCPClient({"vmcp": {"transport": "streamable_http", "url": sys.argv[1]}})
    tools = await client.get_tools()
    echo = next(tool for tool in tools if tool.name == "everything_echo")
    answer = await echo.ainvoke({"message": "hello"})
    text = answer if isinstance(answer, str) else answer[0]["text"]
    print(json.dumps({"tools": [tool.name for tool in tools], "echo": text}))


asyncio.run(main())

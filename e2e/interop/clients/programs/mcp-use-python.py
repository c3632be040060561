import asyncio
import json
import sys

from mcp_use import MCPClient


async def main():
    client = MCPClient.from_dict({"mcpServers": {"vmcp": {"url": sys.argv[1]}}})
    session = await client.create_session("vmcp")
    tools = await session.list_tools()
    result = await session.call_tool("everything_echo", {"message": "hello"})
    print(json.dumps({"tools": [tool.name for tool in tools], "echo": result.content[0].text}))
    await client.close_all_sessions()


asyncio.run(main())

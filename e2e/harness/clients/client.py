"""Runs a script of steps with the Python SDK's client and prints what came of it as one JSON object.

argv: TARGET (JSON), STEPS (JSON), MODE ('auto' or 'legacy'); the shapes are those of client.ts.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.shared.exceptions import MCPError
from mcp.types import PromptReference, ResourceTemplateReference


def transport(target):
    if target["transport"] == "sse":
        return sse_client(target["url"])
    if target["transport"] == "stdio":
        return StdioServerParameters(command=target["command"], args=target["args"], env=dict(os.environ))
    return target["url"]


def dump(model):
    return model.model_dump(by_alias=True, exclude_none=True, mode="json")


async def every(method, member):
    items, cursor = [], None
    while True:
        page = dump(await method(cursor=cursor))
        items += page[member]
        cursor = page.get("nextCursor")
        if cursor is None:
            return items


async def perform(client, step):
    match step["op"]:
        case "tools":
            return await every(client.list_tools, "tools")
        case "resources":
            return await every(client.list_resources, "resources")
        case "templates":
            return await every(client.list_resource_templates, "resourceTemplates")
        case "prompts":
            return await every(client.list_prompts, "prompts")
        case "call":
            return dump(await client.call_tool(step["name"], step["args"]))
        case "read":
            return dump(await client.read_resource(step["uri"]))
        case "prompt":
            return dump(await client.get_prompt(step["name"], step["args"]))
        case "complete":
            ref = step["ref"]
            kind = PromptReference if ref["type"] == "ref/prompt" else ResourceTemplateReference
            return dump(await client.complete(kind(**ref), step["argument"]))
        case "ping":
            return dump(await client.send_ping())


async def main():
    target, steps, mode = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
    outcomes = []
    async with Client(transport(target), mode="legacy" if target["transport"] == "sse" else mode) as client:
        server = client.server_info
        initialize = {
            "protocolVersion": client.protocol_version,
            "serverInfo": dump(server) if server else {},
            "capabilities": dump(client.server_capabilities),
            "instructions": client.instructions,
        }
        for step in steps:
            try:
                outcomes.append({"ok": True, "result": await perform(client, step)})
            except MCPError as error:
                outcomes.append({"ok": False, "code": error.code, "message": error.message})
    print(json.dumps({"initialize": initialize, "outcomes": outcomes}))


asyncio.run(main())

"""The fixture server on the Python SDK: `server.py NAME` speaks over stdio, `server.py NAME PORT` over streamable HTTP."""

import base64
import json
import os
import sys

import anyio
from mcp.server.mcpserver import Image, MCPServer
from mcp.types import CallToolResult, Completion, TextContent
from pydantic import BaseModel

NAME = sys.argv[1]
CITIES = ["Basel", "Berlin", "Bern", "Oslo"]
PEOPLE = ["Ada", "Alan", "Grace"]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

server = MCPServer(f"fixture-{NAME}", version="1.2.3", instructions=f"fixture server {NAME}", log_level="WARNING")


class Weather(BaseModel):
    city: str
    celsius: int


@server.tool(description="Says it again.", structured_output=False)
def echo(text: str) -> str:
    return text


@server.tool(description="Adds two numbers.", structured_output=False)
def add(a: int, b: int) -> str:
    return str(a + b)


@server.tool(description="Takes its time.", structured_output=False)
async def slow(ms: int) -> str:
    await anyio.sleep(ms / 1000)
    return f"waited {ms} ms"


@server.tool(description="Weather, as data.")
def structured(city: str) -> Weather:
    return Weather(city=city, celsius=21)


@server.tool(description="Much text.", structured_output=False)
def big(bytes: int) -> str:
    return "x" * bytes


@server.tool(description="Always fails.", structured_output=False)
def failing() -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="this tool always fails")], is_error=True)


@server.tool(description="A picture.", structured_output=False)
def image() -> Image:
    return Image(data=PNG, format="png")


@server.tool(description="Environment of the server.", structured_output=False)
def environment() -> str:
    return json.dumps(dict(os.environ))


@server.tool(description="Name of the server.", structured_output=False)
def whoami() -> str:
    return f"{NAME} {os.getpid()}"


@server.tool(description="Ends the server.", structured_output=False)
def crash() -> str:
    os._exit(7)


@server.resource(f"fixture://{NAME}/greeting", mime_type="text/plain", title="A greeting")
def greeting() -> str:
    return f"hello from {NAME}"


@server.resource(f"fixture://{NAME}/picture", mime_type="image/png")
def picture() -> bytes:
    return PNG


@server.resource(f"fixture://{NAME}/item/{{id}}", mime_type="text/plain", description="One item.")
def item(id: str) -> str:
    return f"item {id} of {NAME}"


@server.prompt(title="Greet", description="Greets somebody.")
def greet(who: str) -> str:
    return f"Say hello to {who}."


@server.completion()
async def complete(ref, argument, context):
    words = PEOPLE if argument.name == "who" else CITIES
    return Completion(values=[word for word in words if word.lower().startswith(argument.value.lower())])


if len(sys.argv) > 2:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
else:
    server.run("stdio")

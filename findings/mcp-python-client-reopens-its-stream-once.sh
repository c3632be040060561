#!/usr/bin/env bash
# mcp 2.3.0, the MCP SDK for Python: in a session of revision 2025-11-25 the client reads notifications from a GET stream. It opens the
# stream again after its connection broke once. When a connection breaks a second time, however much later, the client gives the stream
# up for the rest of the session: calls go on, but no notification arrives any more, and the program gets no error. A stream that the
# server ends cleanly does not count.
#
# Seen: connections broken 0: changed, notifications 1
#       connections broken 1: changed, notifications 1
#       connections broken 2: changed, notifications 0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0 httpx2==2.16.2 uvicorn==0.54.0 starlette==1.10.0
cat >streams.py <<'PY'
import asyncio
import socket

import uvicorn
from mcp.client import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer('lists')


@server.tool()
async def change(ctx: Context) -> str:
    await ctx.session.send_tool_list_changed()
    return 'changed'


class Network:
    """Forwards connections to the server. `cut` breaks those that are open."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.open: set[asyncio.StreamWriter] = set()

    async def start(self) -> int:
        self.listener = await asyncio.start_server(self.connect, '127.0.0.1', 0)
        return self.listener.sockets[0].getsockname()[1]

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection('127.0.0.1', self.port)
        self.open |= {writer, back}
        await asyncio.gather(self.copy(reader, back), self.copy(there, writer))

    async def copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
        except OSError:
            pass
        writer.close()

    def cut(self) -> None:
        for writer in self.open:
            writer.transport.abort()
        self.open.clear()


async def main() -> None:
    listener = socket.create_server(('127.0.0.1', 0))
    http = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level='error'))
    serving = asyncio.create_task(http.serve(sockets=[listener]))
    network = Network(listener.getsockname()[1])
    url = f'http://127.0.0.1:{await network.start()}/mcp'
    seen = 0

    async def count(_message: object) -> None:
        nonlocal seen
        seen += 1

    async with Client(url, mode='legacy', message_handler=count) as client:
        for broken in range(3):
            if broken:
                network.cut()
            await asyncio.sleep(5)
            seen = 0
            result = await client.call_tool('change', {})
            await asyncio.sleep(2)
            print(f'connections broken {broken}: {result.content[0].text}, notifications {seen}')
    http.should_exit = True
    await serving


asyncio.run(main())
PY
venv/bin/python streams.py 2>errors | tee seen
printf '%s\n' 'connections broken 0: changed, notifications 1' 'connections broken 1: changed, notifications 1' \
  'connections broken 2: changed, notifications 0' | diff - seen

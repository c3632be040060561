#!/usr/bin/env bash
# mcp 2.3.0, the MCP SDK for Python: its client reads at most 1 MiB in one event of a stream, and its server answers a call of revision
# 2025-11-25 as a stream. A tool that returns a text of 600,000 characters cannot be called, because the result has the text twice
# (`content` and `structuredContent`). The same call of revision 2026-07-28 is answered as JSON, for which the client has no limit.
# `max_sse_event_size` of the transport raises the limit.
#
# Seen: 2025-11-25, 500000 characters -> 500000
#       2025-11-25, 600000 characters -> SSE stream failed: Server-sent event exceeded the 1048576 byte limit.
#       2026-07-28, 600000 characters -> 600000
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0 httpx2==2.16.2 uvicorn==0.54.0 starlette==1.10.0
cat >results.py <<'PY'
import asyncio
import socket

import uvicorn
from mcp.client import Client
from mcp.server import MCPServer

server = MCPServer('texts')


@server.tool()
def text(length: int) -> str:
    return 'x' * length


async def main() -> None:
    listener = socket.create_server(('127.0.0.1', 0))
    http = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level='error'))
    serving = asyncio.create_task(http.serve(sockets=[listener]))
    url = f'http://127.0.0.1:{listener.getsockname()[1]}/mcp'
    for revision, mode, length in (
        ('2025-11-25', 'legacy', 500_000),
        ('2025-11-25', 'legacy', 600_000),
        ('2026-07-28', 'auto', 600_000),
    ):
        async with Client(url, mode=mode) as client:
            try:
                seen = len((await client.call_tool('text', {'length': length})).content[0].text)
            except Exception as error:
                seen = error
        print(f'{revision}, {length} characters -> {seen}')
    http.should_exit = True
    await serving


asyncio.run(main())
PY
venv/bin/python results.py 2>errors | tee seen
printf '%s\n' '2025-11-25, 500000 characters -> 500000' \
  '2025-11-25, 600000 characters -> SSE stream failed: Server-sent event exceeded the 1048576 byte limit.' \
  '2026-07-28, 600000 characters -> 600000' | diff - seen

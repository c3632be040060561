#!/usr/bin/env bash
# starlette 1.10.0, the framework under FastAPI and the MCP SDK for Python: GZipMiddleware compresses whenever `Accept-Encoding` has the
# letters "gzip". It reads no quality values (RFC 9110 section 12.5.3): a client that refuses gzip with `gzip;q=0`, or that prefers
# `identity`, gets gzip all the same. Without the header the response is plain.
#
# Seen: identity, gzip;q=0.5 -> gzip
#       identity, gzip;q=0 -> gzip
#       (none) -> plain
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check starlette==1.10.0
cat >coding.py <<'PY'
import asyncio

from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse


async def endpoint(scope, receive, send):
    await PlainTextResponse('x' * 2_000)(scope, receive, send)


app = GZipMiddleware(endpoint)


async def coding_for(accepted: str | None) -> str:
    headers = [] if accepted is None else [(b'accept-encoding', accepted.encode())]
    scope = {'type': 'http', 'method': 'GET', 'path': '/', 'query_string': b'', 'headers': headers}
    sent = []

    async def receive():
        return {'type': 'http.request', 'body': b'', 'more_body': False}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return dict(sent[0]['headers']).get(b'content-encoding', b'plain').decode()


for accepted in ('identity, gzip;q=0.5', 'identity, gzip;q=0', None):
    print(f'{accepted or "(none)"} -> {asyncio.run(coding_for(accepted))}')
PY
venv/bin/python coding.py | tee seen
printf '%s\n' 'identity, gzip;q=0.5 -> gzip' 'identity, gzip;q=0 -> gzip' '(none) -> plain' | diff - seen

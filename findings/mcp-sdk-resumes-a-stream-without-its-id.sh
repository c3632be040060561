#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2: a client that resumes a stream (GET with Last-Event-ID) and gets 200 with a stream that ends without
# an event tries again once a second, for ever, and from the second attempt on without Last-Event-ID. That is the request for the stream of
# the session, of which a server may allow one: the client replaces its own, or gets 409. It also resumes a stream whose last event
# was an error response. A server ends this with 204, or with an event that has an id in each resumed stream.
#
# Seen: POST tools/call
#       GET 1
#       GET none
#       GET none
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2
cat >resumed.js <<'JS'
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const RESULT = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } };
const events = { 'content-type': 'text/event-stream' };
let isCalled = false;
const server = createServer(async (req, res) => {
  if (req.method === 'GET') {
    if (!isCalled) return res.writeHead(405).end(); // no stream of the session
    console.log('GET', req.headers['last-event-id'] ?? 'none');
    return res.writeHead(200, events).end();
  }
  const { id, method } = JSON.parse(await text(req));
  if (id === undefined) return res.writeHead(202).end();
  if (method === 'initialize')
    return res
      .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result: RESULT }));
  isCalled = true;
  console.log('POST', method);
  const error = { code: -32000, message: 'failed' };
  res.writeHead(200, events).end(`id: 1\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, error })}\n\n`);
}).listen(0, '127.0.0.1', async () => {
  const client = new Client({ name: 'c', version: '1' });
  const reconnectionOptions = {
    initialReconnectionDelay: 100,
    maxReconnectionDelay: 100,
    reconnectionDelayGrowFactor: 1,
    maxRetries: 1,
  };
  const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url, { reconnectionOptions }));
  await client.callTool({ name: 't' }).catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  process.exit();
});
JS
node resumed.js >all
head -n 4 all | tee seen
printf '%s\n' 'POST tools/call' 'GET 1' 'GET none' 'GET none' | diff - seen

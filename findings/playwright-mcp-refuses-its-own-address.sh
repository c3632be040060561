#!/usr/bin/env bash
# @playwright/mcp 0.0.83 with `--port` listens on the loopback interface, and answers to `localhost:PORT` only: a request to 127.0.0.1, the
# address on which it listens, gets 403. Programs that start a server on a loopback port often call it by that address, as they know that
# `localhost` can also be ::1. `--allowed-hosts '*'` or the Host header `localhost:PORT` helps.
#
# Seen: 127.0.0.1 403 Access is only allowed at localhost:PORT
#       localhost 200 text/event-stream
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @playwright/mcp@0.0.83
port=$(node -e 'const s=require("node:net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
node node_modules/@playwright/mcp/cli.js --headless --port "$port" 2>server.log &
server=$!
cat >ask.js <<'JS'
import { request } from 'node:http';
const port = Number(process.argv[2]);
const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'finding', version: '1' } };
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
const ask = (name) =>
  new Promise((resolve, reject) => {
    const headers = { host: `${name}:${port}`, accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const sent = request({ host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers }, (res) => {
      let text = '';
      res.on('data', (chunk) => (text += chunk)).on('end', () => resolve([res.statusCode, res.headers['content-type'], text]));
    });
    sent.on('error', reject).end(body);
  });
for (let attempt = 0; ; attempt += 1) {
  try {
    await ask('localhost');
    break;
  } catch (error) {
    if (attempt === 100) throw error;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
const [refused, , text] = await ask('127.0.0.1');
console.log('127.0.0.1', refused, text.replace(String(port), 'PORT'));
const [answered, type] = await ask('localhost');
console.log('localhost', answered, type);
JS
node ask.js "$port" | tee seen
printf '%s\n' '127.0.0.1 403 Access is only allowed at localhost:PORT' 'localhost 200 text/event-stream' | diff - seen

#!/usr/bin/env bash
# undici 7.16.0, from which Node.js has its fetch: fetch() outside of a browser sends `Sec-Fetch-Mode: cors`, but neither `Sec-Fetch-Site` nor
# `Origin`. Browsers send the three together on such a request. A server that takes any Sec-Fetch-* header as the mark of a browser
# treats programs on Node.js as pages: a check that then demands `Sec-Fetch-Site` or `Origin` refuses them.
# request() of the same package sends none of these headers.
#
# Seen: fetch   {"sec-fetch-mode":"cors"}
#       request {}
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund undici@7.16.0
cat >headers.js <<'JS'
import { createServer } from 'node:http';
import { fetch, request } from 'undici';

const server = createServer((req, res) => {
  const wanted = ['origin', 'sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site', 'sec-fetch-user'];
  res.end(JSON.stringify(Object.fromEntries(Object.entries(req.headers).filter(([name]) => wanted.includes(name)))));
});
server.listen(0, '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  const options = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
  console.log('fetch  ', await (await fetch(url, options)).text());
  console.log('request', await (await request(url, options)).body.text());
  server.closeAllConnections();
  server.close();
});
JS
node headers.js | tee seen
printf '%s\n' 'fetch   {"sec-fetch-mode":"cors"}' 'request {}' | diff - seen

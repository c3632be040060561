#!/usr/bin/env bash
# Claude Code 2.1.197 logs in with the client id https://claude.ai/oauth/claude-code-client-metadata while the authorization server's metadata has
# `client_id_metadata_document_supported: true`. When a login has not ended, and the metadata offers `registration_endpoint` instead from then on,
# the next `claude mcp login` still sends the https client id and never registers. After `claude mcp logout` it registers. A server that stops to
# offer documents, for example because it cannot fetch them, therefore cannot help a user whose first login has failed.
#
# Seen: first login: document, 0 registrations
#       without documents: document, 0 registrations
#       after a logout: registered, 1 registrations
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund @anthropic-ai/claude-code@2.1.197
cat >server.js <<'JS'
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
let [offersDocuments, registrations] = [true, 0];
const server = createServer((req, res) => {
  const origin = `http://127.0.0.1:${server.address().port}`;
  const send = (status, body, headers = {}) =>
    res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  if (req.url === '/switch') { offersDocuments = false; send(200, {}); }
  else if (req.url === '/count') send(200, registrations);
  else if (req.url.startsWith('/.well-known/oauth-protected-resource'))
    send(200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
  else if (req.url.startsWith('/.well-known/'))
    send(200, {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      client_id_metadata_document_supported: offersDocuments,
    });
  else if (req.url === '/register') {
    let text = '';
    req.on('data', (chunk) => (text += chunk)).on('end', () => {
      registrations += 1;
      send(201, { ...JSON.parse(text), client_id: 'registered' });
    });
  } else send(401, {}, { 'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"` });
});
server.listen(0, '127.0.0.1', () => writeFileSync('port', String(server.address().port)));
JS
node server.js &
server=$!
until [ -s port ]; do sleep 0.1; done
origin=http://127.0.0.1:$(cat port)
export HOME=$folder
printf '#!/bin/sh\nprintf %%s "$1" >"%s/opened"\n' "$folder" >browser
chmod +x browser
export BROWSER=$folder/browser
claude=$folder/node_modules/.bin/claude
"$claude" mcp add --transport http finding "$origin/mcp" >/dev/null
# starts a login, and ends it when the browser has opened
login() {
  rm -f opened
  timeout 30 script -qec "$claude mcp login finding" /dev/null >/dev/null 2>&1 &
  local login=$!
  for _ in $(seq 150); do [ -s opened ] && break; sleep 0.2; done
  kill "$login" 2>/dev/null || true
  wait "$login" 2>/dev/null || true
  local client=registered
  grep -q 'client_id=https' opened && client=document
  echo "$1: $client, $(node -e 'fetch(process.argv[1]).then(async (reply) => console.log(await reply.text()))' "$origin/count") registrations"
}
{
  login 'first login'
  node -e 'fetch(process.argv[1])' "$origin/switch"
  login 'without documents'
  "$claude" mcp logout finding >/dev/null
  login 'after a logout'
} | tee seen
printf '%s\n' 'first login: document, 0 registrations' 'without documents: document, 0 registrations' 'after a logout: registered, 1 registrations' | diff - seen

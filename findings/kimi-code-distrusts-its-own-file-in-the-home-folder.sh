#!/usr/bin/env bash
# Kimi Code 2.1.0 reads the servers of its user in ~/.kimi-code/mcp.json, and those of a project in .kimi-code/mcp.json of the folder in which
# it starts. In the home folder both are the same file: there Kimi Code reads it as the file of a project, and skips its servers until the user
# trusts the home folder. In every other folder they start.
#
# Seen: home Warning: this folder is not trusted; skipped 1 project-level MCP server: tools (http: http://127.0.0.1:9/mcp).
#       elsewhere no warning
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true}' >package.json
npm install --silent --no-audit --no-fund @moonshot-ai/kimi-code@2.1.0 node@24.21.0
mkdir -p home/.kimi-code elsewhere
echo '{"mcpServers":{"tools":{"url":"http://127.0.0.1:9/mcp"}}}' >home/.kimi-code/mcp.json
# Without a model it ends after it has read its configuration.
ask() {
  (cd "$1" && HOME="$folder/home" PATH="$folder/node_modules/node/bin:$PATH" "$folder/node_modules/.bin/kimi" -p hello 2>&1 || true) |
    grep -o 'Warning: .*' || echo 'no warning'
}
{
  echo "home $(ask home)"
  echo "elsewhere $(ask elsewhere)"
} | tee seen
printf '%s\n' 'home Warning: this folder is not trusted; skipped 1 project-level MCP server: tools (http: http://127.0.0.1:9/mcp).' 'elsewhere no warning' |
  diff - seen

#!/usr/bin/env bash
# mcp-server-sqlite 2025.4.25, of the MCP project, demands `mcp[cli]>=1.6.0` without an upper bound. Since mcp 2.0.0 its published
# command, `uvx mcp-server-sqlite`, installs an SDK of the next major version and ends before it answers: the decorators of
# `Server` are gone. The same holds for mcp-server-duckdb 1.1.0 and cli-mcp-server 0.2.5. With `mcp<2` beside it the server runs.
#
# Seen: mcp 2.3.0   AttributeError: 'Server' object has no attribute 'list_resources'
#       mcp 1.30.0  initialized sqlite
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}'
for sdk in 2.3.0 1.30.0; do
  python3 -m venv "$sdk"
  "$sdk/bin/pip" install --quiet --disable-pip-version-check mcp-server-sqlite==2025.4.25 "mcp[cli]==$sdk"
  echo "$initialize" | timeout 60 "$sdk/bin/mcp-server-sqlite" --db-path "$sdk.db" >out 2>err || true
  error=$(grep -o "AttributeError: .*" err || true)
  name=$(grep -o '"serverInfo":{"name":"[a-z]*"' out | cut -d'"' -f6 || true)
  printf 'mcp %-7s %s\n' "$sdk" "${error:-initialized $name}"
done | tee seen
printf '%s\n' "mcp 2.3.0   AttributeError: 'Server' object has no attribute 'list_resources'" 'mcp 1.30.0  initialized sqlite' | diff - seen

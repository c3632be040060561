# setup.sh
curl --fail --silent --show-error http://127.0.0.1:4445/admin/clients -H 'content-type: application/json' -d '{
  "client_id": "mcp-client", "client_name": "MCP client", "token_endpoint_auth_method": "none",
  "grant_types": ["authorization_code", "refresh_token"], "scope": "openid offline_access mcp",
  "redirect_uris": ["http://127.0.0.1/callback"] }'
curl --fail --silent --show-error http://127.0.0.1:4445/admin/clients -H 'content-type: application/json' -d '{
  "client_id": "vmcp", "client_secret": "secret-of-vmcp", "client_name": "vmcp",
  "grant_types": ["authorization_code", "refresh_token"], "scope": "openid offline_access",
  "redirect_uris": ["http://127.0.0.1:4483/oauth/callback"] }'

import type { GatewayConfig } from '../../contract/gateway-config.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config/auth-server.ts';
import { VMCP } from '../../contract/testdata/vmcp-config.ts';

/** A configuration with an embedded authorization server, in which nothing is wrong. */
export const given = (change: Partial<EmbeddedAuthServerConfig> = {}): GatewayConfig => ({
  schema_version: 'v0.1.0',
  name: 'desk',
  oidc_config: { issuer: 'https://desk.example', audience: 'https://desk.example/mcp' },
  embedded_auth_server_config: {
    issuer: 'https://desk.example',
    upstreams: [
      { name: 'corp', type: 'oidc', oidc_config: { issuer_url: 'https://idp.example', client_id: 'desk' } },
    ],
    ...change,
  },
  vmcp: { ...VMCP, incoming: { type: 'oidc' } },
});

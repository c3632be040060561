import type { GatewayConfig } from '../../contract/gateway-config.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config-auth-server.ts';

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
  vmcp: {
    incoming: { type: 'oidc' },
    backends: [],
    aggregation: { conflict_resolution: 'prefix', prefix_format: '{workload}_', default_tool_visibility: 'allow' },
    operational: {
      timeouts: { default: '30s' },
      failure_handling: {
        health_check_interval: '30s',
        health_check_timeout: '10s',
        unhealthy_threshold: 3,
        circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
      },
    },
  },
});

import { entry, group, secret, server, virtualServer, GROUP, type Manifest } from '../harness/manifests.ts';

/** A value that must be found nowhere but in its Secret. */
export const CANARY = 'canary-8d1f2f5e-of-a-secret';

export const REMOTE = 'https://mcp.example.com/mcp';

/** An MCPServer whose pods listen. */
export const httpServer = (name: string, spec: Readonly<Record<string, unknown>> = {}): Manifest =>
  server(name, `registry.example.com/${name}:1`, { transport: 'streamable-http', ...spec });

export const stdioServer = (name: string, spec: Readonly<Record<string, unknown>> = {}): Manifest =>
  server(name, `registry.example.com/${name}:1`, spec);

const custom = (kind: string, name: string, spec: Readonly<Record<string, unknown>>): Manifest => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});

/** Injects a header whose value is the key `value` of the Secret `secretName`. */
export const headerAuth = (name: string, secretName: string, key = 'value'): Manifest =>
  custom('MCPExternalAuthConfig', name, {
    type: 'headerInjection',
    headerInjection: { headerName: 'X-Api-Key', valueSecretRef: { name: secretName, key } },
  });

export const oidcConfig = (name: string, inline: Readonly<Record<string, unknown>> = {}): Manifest =>
  custom('MCPOIDCConfig', name, { type: 'inline', inline: { issuer: 'https://issuer.example.com', ...inline } });

/** An MCPAuthzConfig that permits everything. */
export const authzConfig = (name: string): Manifest =>
  custom('MCPAuthzConfig', name, { type: 'cedarv1', config: { policies: ['permit(principal, action, resource);'] } });

export const telemetryConfig = (name: string): Manifest =>
  custom('MCPTelemetryConfig', name, { openTelemetry: { endpoint: 'https://otel.example.com' } });

/** An embedded authorization server for `authServerRef`. */
export const authServer = (name: string, issuer: string): Manifest =>
  custom('MCPExternalAuthConfig', name, {
    type: 'embeddedAuthServer',
    embeddedAuthServer: {
      issuer,
      upstreamProviders: [
        { name: 'corp', type: 'oidc', oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'web' } },
      ],
    },
  });

/** An MCPToolConfig that keeps one tool. */
export const toolConfig = (name: string, fields: Readonly<Record<string, unknown>> = {}): Manifest =>
  custom('MCPToolConfig', name, { toolsFilter: ['search'], ...fields });

/** A signed webhook whose key is in the Secret `hooks`. */
export const webhookConfig = (name = 'checks', fields: Readonly<Record<string, unknown>> = {}): Manifest =>
  custom('MCPWebhookConfig', name, {
    validating: [
      {
        name: 'audit',
        url: 'https://hooks.example.com/audit',
        hmacSecretRef: { name: 'hooks', key: 'hmac' },
        ...fields,
      },
    ],
  });

/** `incomingAuth` by an MCPOIDCConfig. */
export const oidcBy = (name: string): Readonly<Record<string, unknown>> => ({
  incomingAuth: { type: 'oidc', oidcConfigRef: { name }, audience: 'https://gateway.example.com/mcp' },
});

/** A server that uses one Secret of every sort, and everything that it refers to. The VirtualMCPServer is the last. */
export function everySort(): Manifest[] {
  const keys = { key: CANARY, second: CANARY };
  const outgoingAuth = { backends: { remote: { type: 'discovered' } } };
  return [
    group(),
    secret('header', { value: CANARY }),
    secret('environment', keys),
    secret('oidc-client', keys),
    secret('exchange', keys),
    headerAuth('by-header', 'header'),
    custom('MCPExternalAuthConfig', 'by-exchange', {
      type: 'tokenExchange',
      tokenExchange: {
        tokenUrl: 'https://sts.example.com/token',
        clientId: 'gateway',
        clientSecretRef: { name: 'exchange', key: 'key' },
      },
    }),
    oidcConfig('login', {
      clientId: 'gateway',
      clientSecretRef: { name: 'oidc-client', key: 'key' },
      introspectionUrl: 'https://issuer.example.com/introspect',
    }),
    entry('remote', REMOTE, 'streamable-http', { externalAuthConfigRef: { name: 'by-header' } }),
    httpServer('web', {
      externalAuthConfigRef: { name: 'by-exchange' },
      secrets: [
        { name: 'environment', key: 'key', targetEnvName: 'FIRST' },
        { name: 'environment', key: 'second', targetEnvName: 'SECOND' },
      ],
    }),
    stdioServer('local', { env: [{ name: 'PLAIN', value: 'text' }] }),
    virtualServer({}, { name: 'all', groupName: GROUP, ...oidcBy('login'), replicas: 2, outgoingAuth }),
  ];
}

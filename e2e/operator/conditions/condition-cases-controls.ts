import { group, secret, type Manifest } from '../../harness/manifests.ts';
import { authServer, authzConfig, httpServer, oidcConfig, telemetryConfig, webhookConfig } from '../resources.ts';
import { create, patch, SERVER, spec, type ConditionCase } from './condition-case.ts';

const TOKENS = { oidcConfigRef: { name: 'login', audience: 'https://web.example.com/mcp' } };
const web = (controls: Readonly<Record<string, unknown>>): Manifest => httpServer('web', { replicas: 1, ...controls });
const perUser = { perUser: { maxTokens: 1, refillPeriod: '1m' } };

/** Conditions of the controls of a single MCPServer. */
export const OF_CONTROLS: readonly ConditionCase[] = [
  {
    on: SERVER,
    type: 'OIDCConfigRefValidated',
    given: [group(), oidcConfig('login'), web(TOKENS)],
    right: ['True', 'OIDCConfigRefValid'],
    breaks: spec(SERVER, { oidcConfigRef: { name: 'later' } }),
    wrong: ['False', 'OIDCConfigRefNotFound'],
    names: 'spec.oidcConfigRef.name',
    heals: create(oidcConfig('later')),
  },
  {
    on: SERVER,
    type: 'OIDCConfigRefValidated',
    given: [group(), oidcConfig('login'), web(TOKENS)],
    right: ['True', 'OIDCConfigRefValid'],
    breaks: patch('MCPOIDCConfig', 'login', { spec: { inline: { issuer: 'https://10.0.0.1' } } }),
    wrong: ['False', 'OIDCConfigRefNotValid'],
    names: 'spec.inline.issuer',
    heals: patch('MCPOIDCConfig', 'login', { spec: { inline: { issuer: 'https://other.example.com' } } }),
  },
  {
    on: SERVER,
    type: 'AuthzConfigRefValidated',
    given: [group(), oidcConfig('login'), authzConfig('rules'), web({ ...TOKENS, authzConfigRef: { name: 'rules' } })],
    right: ['True', 'AuthzConfigRefValid'],
    breaks: patch('MCPAuthzConfig', 'rules', { spec: { config: { policies: ['permit('] } } }),
    wrong: ['False', 'AuthzConfigRefNotValid'],
    names: 'spec.config.policies[0]',
    heals: patch('MCPAuthzConfig', 'rules', {
      spec: { config: { policies: ['permit(principal, action, resource);'] } },
    }),
  },
  {
    on: SERVER,
    type: 'AuthServerRefValidated',
    given: [
      group(),
      oidcConfig('login', { issuer: 'https://web.example.com' }),
      authServer('logins', 'https://web.example.com'),
      web({ ...TOKENS, authServerRef: { name: 'logins' } }),
    ],
    right: ['True', 'AuthServerRefValid'],
    breaks: patch('MCPExternalAuthConfig', 'logins', {
      spec: { embeddedAuthServer: { issuer: 'https://other.example.com' } },
    }),
    wrong: ['False', 'AuthServerRefInvalidConfig'],
    names: 'spec.embeddedAuthServer.issuer',
    heals: patch('MCPExternalAuthConfig', 'logins', {
      spec: { embeddedAuthServer: { issuer: 'https://web.example.com' } },
    }),
  },
  {
    on: SERVER,
    type: 'TelemetryConfigRefValidated',
    given: [group(), telemetryConfig('otel'), web({ telemetryConfigRef: { name: 'otel' } })],
    right: ['True', 'TelemetryConfigRefValid'],
    breaks: spec(SERVER, { telemetryConfigRef: { name: 'later' } }),
    wrong: ['False', 'TelemetryConfigRefNotFound'],
    names: 'spec.telemetryConfigRef.name',
    heals: create(telemetryConfig('later')),
  },
  {
    on: SERVER,
    type: 'WebhookConfigValidated',
    given: [
      group(),
      secret('hooks', { hmac: 'x'.repeat(32) }),
      webhookConfig(),
      web({ webhookConfigRef: { name: 'checks' } }),
    ],
    right: ['True', 'WebhookConfigValid'],
    breaks: (here) => here.remove('Secret', 'hooks'),
    wrong: ['False', 'WebhookConfigInvalid'],
    names: 'spec.validating[0].hmacSecretRef.name',
    heals: create(secret('hooks', { hmac: 'y'.repeat(32) })),
  },
  {
    on: SERVER,
    type: 'RateLimitConfigValid',
    given: [group(), oidcConfig('login'), web({ ...TOKENS, rateLimiting: perUser })],
    right: ['True', 'RateLimitConfigValid'],
    breaks: spec(SERVER, { replicas: 2 }),
    wrong: ['False', 'RateLimitingRequiresKvstore'],
    names: 'spec.rateLimiting',
    heals: spec(SERVER, { sessionStorage: { provider: 'kvstore', address: 'store:6379' } }),
  },
];

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { KINDS } from './index.ts';
import { embeddedAuthServers } from './testdata/embedded-auth-server.ts';
import { validateObject } from './validate.ts';

interface Resource {
  kind: string;
  metadata: Record<string, unknown>;
  spec: Record<string, unknown>;
}

const folder = (name: string) => join(import.meta.dirname, 'samples', name);
const sample = (name: string) => parse(readFileSync(join(folder('valid'), `${name}.yaml`), 'utf8')) as Resource;

const OTEL = 'openTelemetry';
const AUTH = 'authServerConfig';
const KV = `${AUTH}.storage.kvstore`;
const GIT = `${AUTH}.upstreamProviders.0.oauth2Config`;
const CORP = `${AUTH}.upstreamProviders.0.oidcConfig`;
const TRUST = `${AUTH}.trustedIssuers.0`;
const INLINE = 'incomingAuth.oidcConfig.inline';
const CLUSTER = 'incomingAuth.oidcConfig.kubernetes';
const FAILURE = 'config.operational.failureHandling';
const HTTP = 'http://a.example.com';
const REF = { name: 'a' };
const KEY = { name: 'a', key: 'b' };
const SIGNED = { privateKeyRef: KEY };

/** Valid sample, field of its spec to set (or to remove, if undefined), and path of the expected problem. */
const BREACHES: readonly (readonly [string, string, unknown, string?])[] = [
  ['telemetry-every-field', `${OTEL}.endpoint`, undefined],
  ['telemetry-every-field', OTEL, { endpoint: 'https://a', tracing: { enabled: false }, metrics: { enabled: false } }],
  ['telemetry-every-field', `${OTEL}.endpoint`, HTTP],
  ['telemetry-every-field', `${OTEL}.headers`, { 'a b': 'c' }],
  ['telemetry-every-field', `${OTEL}.headers`, { Cookie: 'a' }],
  ['telemetry-every-field', `${OTEL}.sensitiveHeaders`, [{ name: 'Host', secretKeyRef: KEY }]],
  ['telemetry-every-field', `${OTEL}.headers`, { Authorization: 'a' }, `${OTEL}.sensitiveHeaders`],
  ['vmcp-smallest', 'incomingAuth.oidcConfigRef', { name: 'a', audience: 'b' }],
  ['vmcp-smallest', 'incomingAuth.authzConfigRef', REF],
  ['vmcp-smallest', 'incomingAuth.clockSkewSeconds', 5],
  ['vmcp-smallest', 'incomingAuth.requireClientId', true],
  ['vmcp-incoming-kubernetes', 'incomingAuth.requireClientId', true],
  ...['loadBalancerClass', 'externalTrafficPolicy', 'loadBalancerSourceRanges'].map(
    (member): [string, string, unknown, string] => [
      'vmcp-smallest',
      'resourceOverrides',
      { service: { [member]: { loadBalancerClass: 'a', externalTrafficPolicy: 'Local' }[member] ?? ['10.0.0.0/8'] } },
      `resourceOverrides.service.${member}`,
    ],
  ),
  ['webhooks', 'validating', undefined],
  ...['mutating', 'validating'].flatMap((list): [string, string, unknown, string?][] => [
    ['webhooks-every-field', `${list}.0.timeout`, '31s'],
    [
      'webhooks-every-field',
      `${list}.0.tlsConfig.clientKeySecretRef`,
      undefined,
      `${list}.0.tlsConfig.clientCertSecretRef`,
    ],
    [
      'webhooks-every-field',
      `${list}.0.tlsConfig.clientCertSecretRef`,
      undefined,
      `${list}.0.tlsConfig.clientKeySecretRef`,
    ],
    ['webhooks-every-field', `${list}.0`, { name: 'a', url: HTTP }, `${list}.0.url`],
  ]),
  ['vmcp-incoming-inline', CLUSTER, {}],
  ['vmcp-incoming-inline', `${INLINE}.issuer`, HTTP],
  ['vmcp-incoming-inline', `${INLINE}.jwksUrl`, HTTP],
  ['vmcp-incoming-inline', `${INLINE}.introspectionUrl`, HTTP],
  ['vmcp-incoming-inline', `${INLINE}.clientId`, undefined, `${INLINE}.clientSecretRef`],
  ['vmcp-incoming-inline', `${INLINE}.clientSecretRef`, undefined, `${INLINE}.introspection`],
  ['vmcp-incoming-inline', `${INLINE}.privateKeyJwt`, SIGNED],
  ['vmcp-auth-server-with-inline-issuer', `${INLINE}.privateKeyJwt`, SIGNED],
  ['vmcp-incoming-inline', `${INLINE}.introspection.cacheTtl`, '301s'],
  ['vmcp-incoming-kubernetes-every-field', `${CLUSTER}.issuer`, HTTP],
  ['vmcp-incoming-kubernetes-every-field', `${CLUSTER}.jwksUrl`, HTTP],
  ['vmcp-incoming-kubernetes-every-field', `${CLUSTER}.introspectionUrl`, HTTP],
  ['vmcp-authz-config-map', 'incomingAuth.authzConfigRef', REF],
  ['vmcp-authz-inline', 'incomingAuth.authzConfig.configMap', REF],
  ['vmcp-outgoing-inline', 'outgoingAuth.default.externalAuthConfigRef', undefined],
  ['vmcp-auth-server', `${AUTH}.issuer`, HTTP],
  ['vmcp-auth-server', `${AUTH}.authorizationEndpointBaseUrl`, HTTP],
  ['vmcp-auth-server-keys-and-lifespans', `${AUTH}.tokenLifespans.refreshTokenLifespan`, '721h'],
  ['vmcp-auth-server-loopback-http', `${AUTH}.allowConfidentialClientRegistration`, true],
  [
    'vmcp-auth-server-loopback-http',
    `${AUTH}.delegateClients`,
    [{ clientId: 'a', clientSecretRef: KEY, audiences: ['a'], scopes: ['b'] }],
  ],
  ['vmcp-auth-server-loopback-secrets', `${AUTH}.insecureAllowHTTP`, true, `${AUTH}.delegateClients`],
  ['vmcp-auth-server-sentinel', `${KV}.clusterMode`, true],
  ['vmcp-auth-server-sentinel', `${KV}.sentinelConfig.sentinelService`, REF],
  ['vmcp-auth-server-sentinel', `${KV}.sentinelConfig.sentinelAddrs`, undefined, `${KV}.sentinelConfig`],
  [
    'vmcp-auth-server-sentinel',
    `${KV}.tls`,
    { caCertSecretRef: KEY, insecureSkipVerify: true },
    `${KV}.tls.insecureSkipVerify`,
  ],
  ['vmcp-auth-server-sentinel', `${KV}.sentinelTls.insecureSkipVerify`, true],
  ['vmcp-auth-server-sentinel', `${KV}.dialTimeout`, '0s'],
  ['vmcp-auth-server-sentinel', `${KV}.readTimeout`, '1us'],
  ['vmcp-auth-server-sentinel', `${KV}.writeTimeout`, '0.5ms'],
  ['vmcp-auth-server', CORP, undefined],
  ['vmcp-auth-server-oauth2-provider', `${GIT}.authorizationEndpoint`, HTTP],
  ['vmcp-auth-server-oauth2-provider', `${GIT}.tokenEndpoint`, HTTP],
  ['vmcp-auth-server-oauth2-provider', `${GIT}.revocationEndpoint`, HTTP],
  ['vmcp-auth-server-oauth2-provider', `${GIT}.additionalAuthorizationParams`, { redirect_uri: 'a' }],
  ['auth-token-exchange', 'tokenExchange.additionalParams', { audience: 'a' }],
  ['vmcp-auth-server-oauth2-provider', `${GIT}.additionalTokenParams`, { refresh_token: 'a' }],
  ['vmcp-auth-server-oidc-provider', `${CORP}.additionalTokenParams`, { client_secret: 'a' }],
  ['vmcp-auth-server-dcr-provider', `${GIT}.clientSecretRef`, KEY],
  ['vmcp-auth-server-dcr-provider', `${GIT}.privateKeyJwt`, SIGNED],
  ['vmcp-auth-server-dcr-provider', `${GIT}.dcrConfig`, {}],
  ['vmcp-auth-server-oidc-dcr-provider', `${CORP}.clientSecretRef`, KEY],
  ['vmcp-auth-server-oidc-dcr-provider', `${CORP}.privateKeyJwt`, SIGNED],
  ['vmcp-auth-server-oidc-dcr-provider', `${CORP}.clientId`, 'a', CORP],
  ['vmcp-auth-server-oauth2-provider', `${GIT}.privateKeyJwt`, SIGNED],
  ['vmcp-auth-server-oidc-provider', `${CORP}.privateKeyJwt`, SIGNED],
  ['vmcp-auth-server-oidc-provider', `${CORP}.issuerUrl`, HTTP],
  ['vmcp-auth-server-oidc-provider', `${CORP}.userInfoOverride.endpointUrl`, HTTP],
  ['vmcp-auth-server-trusted-issuers', `${TRUST}.issuerUrl`, HTTP],
  ['vmcp-auth-server-trusted-issuers', `${TRUST}.jwksUrl`, HTTP],
  ['vmcp-auth-server-trusted-issuers', `${TRUST}.jwksUrl`, undefined, `${TRUST}.allowPrivateIPs`],
  [
    'vmcp-auth-server-trusted-issuers',
    TRUST,
    { issuerUrl: 'https://a', expectedAudience: 'a' },
    `${TRUST}.expectedAudience`,
  ],
  ['vmcp-auth-server-trusted-issuers', `${AUTH}.trustedIssuers.1.allowedActors`, ['a']],
  ['vmcp-auth-server-trusted-issuers', `${AUTH}.trustedIssuers.1.actorClaim`, 'a'],
  ['vmcp-auth-server-trusted-issuers', `${AUTH}.trustedIssuers.1.actorMatcher`, 'a'],
  ['vmcp-auth-server-trusted-issuers', `${TRUST}.actorClaim`, 'sub'],
  ['vmcp-auth-server-trusted-issuers', `${AUTH}.trustedIssuers.1.jwtBearerGrant.maxAssertionAge`, '0s'],
  ['vmcp-auth-server-clients', `${AUTH}.cimd.cacheFallbackTtl`, '999ms'],
  ['vmcp-session-storage', 'sessionStorage.tls.insecureSkipVerify', true],
  ['vmcp-smallest', 'config', { sessionStorage: { provider: 'memory' } }, 'config.sessionStorage'],
  ['vmcp-operational', 'config.operational.timeouts.backendInit', '0s'],
  ['vmcp-operational', `${FAILURE}.healthCheckInterval`, '99ms'],
  ['vmcp-operational', `${FAILURE}.healthCheckTimeout`, '0s'],
  ['vmcp-operational', `${FAILURE}.statusReportingInterval`, '1ms'],
  ['vmcp-optimizer', 'config.optimizer.embeddingHeaders', { Authorization: 'a' }],
  ['vmcp-optimizer', 'config.optimizer.embeddingServiceTimeout', '0s'],
  ['vmcp-rate-limiting', 'config.rateLimiting.tools.0', { name: 'a' }],
  ['vmcp-rate-limiting', 'config.rateLimiting.shared.refillPeriod', '0s'],
  ['vmcp-rate-limiting', 'config.rateLimiting.perUser.refillPeriod', '8761h'],
  ['vmcp-rate-limiting', 'config.rateLimiting.tools.0.shared.refillPeriod', '999us'],
  ['vmcp-rate-limiting', 'config.rateLimiting.tools.0.perUser.refillPeriod', '0h'],
  ['vmcp-composite-tools', 'config.compositeTools.0.steps.1.message', undefined],
  ['vmcp-composite-tools', 'config.compositeTools.0.steps.2.step', undefined, 'config.compositeTools.0.steps.2'],
  ['vmcp-code-mode', 'config.codeMode.toolCallTimeout', '0s'],
  ['vmcp-config-names-and-metadata', 'config.passthroughHeaders', ['mcp-protocol-version']],
  ['server-policies', 'permissionProfile.key', undefined],
  ['server-policies', 'oidcConfigRef.audience', undefined, 'oidcConfigRef'],
  ['server-policies', 'authzConfig.configMap', undefined],
  ['server-policies', 'authzConfig.inline', { policies: ['a'] }],
  ['server-smallest', 'rateLimiting', {}],
  ['server-shared-shapes', 'rateLimiting.tools.0', { name: 'a' }],
  ['server-shared-shapes', 'rateLimiting.shared.refillPeriod', '0s'],
  [
    'server-shared-shapes',
    'rateLimiting.perUser',
    { maxTokens: 1, refillPeriod: '0s' },
    'rateLimiting.perUser.refillPeriod',
  ],
  ['server-shared-shapes', 'rateLimiting.tools.0.shared.refillPeriod', '0s'],
  ['server-shared-shapes', 'rateLimiting.tools.0.perUser.refillPeriod', '8761h'],
  ['server-shared-shapes', 'sessionStorage.address', undefined],
  ['server-smallest', 'sessionStorage', { provider: 'memory', tls: {} }, 'sessionStorage.tls'],
  ['server-shared-shapes', 'sessionStorage.tls.insecureSkipVerify', true],
  ['entry-every-field', 'headerForward.addPlaintextHeaders', { 'X Key': 'a' }],
  [
    'entry-every-field',
    'headerForward.addHeadersFromSecret',
    [{ headerName: 'Proxy-Authorization', valueSecretRef: KEY }],
  ],
  ['oidc-inline', 'kubernetes', {}],
  ['oidc-inline', 'kubernetesServiceAccount', {}],
  ['oidc-kubernetes', 'kubernetesServiceAccount', {}],
  ['oidc-inline', 'inline.jwksUrl', HTTP],
  ['oidc-inline', 'inline.introspectionUrl', HTTP],
  ['oidc-inline', 'inline.clientSecretRef', KEY],
  ['oidc-inline', 'inline.privateKeyJwt', SIGNED],
  ['oidc-inline-every-field', 'inline.privateKeyJwt', SIGNED],
  ['oidc-kubernetes', 'kubernetes.issuer', HTTP],
  ['oidc-kubernetes', 'kubernetes.jwksUrl', HTTP],
  ['oidc-kubernetes', 'kubernetes.introspectionUrl', HTTP],
  ['oidc-kubernetes-alias', 'kubernetesServiceAccount.issuer', HTTP],
  ['oidc-kubernetes-alias', 'kubernetesServiceAccount.jwksUrl', HTTP],
  ['oidc-kubernetes-alias', 'kubernetesServiceAccount.introspectionUrl', HTTP],
  ['auth-embedded-auth-server', 'embeddedAuthServer', undefined],
  ['auth-header-injection', 'headerInjection', undefined],
  ['auth-token-exchange', 'tokenExchange.clientSecretRef', KEY],
  ['auth-token-exchange', 'tokenExchange.privateKeyJwt', SIGNED],
  ['auth-token-exchange-every-field', 'tokenExchange.privateKeyJwt', SIGNED],
  ['auth-token-exchange', 'tokenExchange.tokenEndpointAuthMethod', 'client_secret_post'],
  ['auth-token-exchange', 'tokenExchange.externalTokenHeaderName', 'Cookie'],
];

function breach(name: string, path: string, value: unknown): Resource {
  const object = sample(name);
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  const holder = steps.reduce<Record<string, unknown>>(
    (node, step) => node[step] as Record<string, unknown>,
    object.spec,
  );
  if (value === undefined) Reflect.deleteProperty(holder, last);
  else holder[last] = value;
  return object;
}

const indexed = (path: string) => `spec.${path}`.replaceAll(/\.(\d+)(?=\.|$)/gu, '[$1]');

const dotted = (name: string): Resource => ({ ...sample('vmcp-smallest'), metadata: { name } });

describe('a violation of a rule', () => {
  const rows = BREACHES.map(([name, path, value, place = path]) => ({ name, path, value, place }));

  it.each(rows)('of $name at $path is reported at its path', ({ name, path, value, place }) => {
    const object = breach(name, path, value);
    const problems = validateObject(object.kind, object);
    expect(problems.map((problem) => [problem.path, problem.reason])).toEqual([[indexed(place), 'RuleViolated']]);
  });

  it('is tested for every rule of every kind', () => {
    const dir = folder('invalid');
    const files = readdirSync(dir).map((file) => parse(readFileSync(join(dir, file), 'utf8')) as Resource);
    const own = [...files, ...BREACHES.map(([name, path, value]) => breach(name, path, value)), dotted('a.b')];
    const objects = [...own, ...own.flatMap(embeddedAuthServers)];
    const broken = new Set(
      objects.flatMap((object) =>
        validateObject(object.kind, object).map(
          ({ path, message }) => `${object.kind} ${path.replaceAll(/\[\d+\]/gu, '[]')}: ${message}`,
        ),
      ),
    );
    const rules = KINDS.flatMap(({ kind, rules: all }) =>
      all
        .filter(({ only }) => only === undefined)
        .map(({ path, field, message }) => {
          const place = [path.replace('{}', '.github'), field].filter(Boolean).join('.');
          return `${kind} ${place}: ${message}`;
        }),
    );
    expect(rules.filter((rule) => !broken.has(rule))).toEqual([]);
  });
});

describe('loopback', () => {
  const entry = (remoteUrl: string, insecureAllowHTTP?: boolean) => {
    const object = sample('entry-smallest');
    Object.assign(object.spec, { remoteUrl }, insecureAllowHTTP === undefined ? {} : { insecureAllowHTTP });
    return validateObject(object.kind, object).length;
  };

  it.each([
    'http://localhost',
    'http://localhost:80/a',
    'http://127.0.0.1:3000/mcp',
    'http://127.9.9.9',
    'http://[::1]:1/',
  ])('is where %s leads', (url) => {
    expect(entry(url)).toBe(0);
  });

  it.each([
    'http://localhost.evil.com',
    'http://127.0.0.1.evil.com',
    'http://127.0.0.1@evil.com',
    'http://[::2]',
    'http://a',
  ])('is not where %s leads', (url) => {
    expect(entry(url)).toBe(1);
    expect(entry(url, false)).toBe(1);
    expect(entry(url, true)).toBe(0);
  });
});

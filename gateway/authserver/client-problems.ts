import { durationMs, HOST_PATTERN, SCOPE_PATTERN } from '../contract/fields.ts';
import { below, invalid, problem, type Problem } from '../contract/problem.ts';
import type { EmbeddedAuthServerConfig } from '../contract/run-config/auth-server.ts';
import { preloadedProblems } from './clients/documents/preloaded-documents.ts';
import { preloadedOf, supportedScopes } from './read-settings.ts';

const SCOPE_TOKEN = new RegExp(SCOPE_PATTERN, 'u');
const HOST = new RegExp(HOST_PATTERN, 'u');
const MAX_BASELINE_SCOPES = 10;
const MAX_FORCED_URIS = 10;

/** Checks the rules for clients and their scopes. */
export const clientProblems = (config: EmbeddedAuthServerConfig): Problem[] => [
  ...scopeProblems(config),
  ...confidentialProblems(config),
  ...documentProblems(config.cimd ?? {}),
];

function scopeProblems(config: EmbeddedAuthServerConfig): Problem[] {
  const supported = supportedScopes(config);
  const baseline = config.baseline_client_scopes ?? [];
  const unknown = baseline.filter((scope) => !supported.includes(scope));
  return [
    ...(supported.length === 0 ? [invalid('scopes_supported', 'name a scope, or remove the list')] : []),
    ...supported.flatMap((scope, index) =>
      SCOPE_TOKEN.test(scope)
        ? []
        : [invalid(`scopes_supported[${String(index)}]`, 'a scope is one word (RFC 6749 §3.3): write one item each')],
    ),
    ...(baseline.length > MAX_BASELINE_SCOPES
      ? [invalid('baseline_client_scopes', `name at most ${String(MAX_BASELINE_SCOPES)} scopes`)]
      : []),
    ...unknown.map((scope) => {
      const path = `baseline_client_scopes[${String(baseline.indexOf(scope))}]`;
      return problem('RuleViolated', path, `"${scope}" is not in scopes_supported: add it there, or remove it here`);
    }),
  ];
}

function confidentialProblems(config: EmbeddedAuthServerConfig): Problem[] {
  const { issuer = '', force_confidential_redirect_uris: forced = [] } = config;
  const allowed = config.allow_confidential_client_registration === true;
  const onLoopback =
    config.insecure_allow_confidential_over_loopback_http === true && config.insecure_allow_http !== true;
  const mayHaveSecrets = issuer.startsWith('https://') || onLoopback;
  const withSecrets = [
    ...(allowed ? ['allow_confidential_client_registration'] : []),
    ...((config.delegate_clients ?? []).length > 0 ? ['delegate_clients'] : []),
  ];
  return [
    ...(mayHaveSecrets
      ? []
      : withSecrets.map((path) => problem('RuleViolated', path, 'client secrets need an https issuer'))),
    ...(forced.length > 0 && !allowed
      ? [
          problem(
            'RuleViolated',
            'force_confidential_redirect_uris',
            'no client gets a secret without allow_confidential_client_registration: set it, or remove this list',
          ),
        ]
      : []),
    ...(forced.length > MAX_FORCED_URIS
      ? [invalid('force_confidential_redirect_uris', `name at most ${String(MAX_FORCED_URIS)} URIs`)]
      : []),
    ...forced.flatMap((uri, index) =>
      URL.parse(uri)?.protocol === 'https:'
        ? []
        : [problem('InvalidUrl', `force_confidential_redirect_uris[${String(index)}]`, 'write an https URL')],
    ),
  ];
}

function documentProblems(cimd: NonNullable<EmbeddedAuthServerConfig['cimd']>): Problem[] {
  const { cache_fallback_ttl: ttl } = cimd;
  const preloaded = preloadedOf(cimd).flatMap((document, index) =>
    below(`cimd.documents[${String(index)}]`, preloadedProblems(document)),
  );
  const hosts = (['allowed_hosts', 'denied_hosts'] as const).flatMap((member) =>
    (cimd[member] ?? []).flatMap((host, index) =>
      HOST.test(host)
        ? []
        : [
            invalid(
              `cimd.${member}[${String(index)}]`,
              `"${host}" is no host: write a name, or *.DOMAIN for all below`,
            ),
          ],
    ),
  );
  if (ttl === undefined || durationMs(ttl) >= 1000) return [...hosts, ...preloaded];
  return [
    ...hosts,
    ...preloaded,
    problem('InvalidDuration', 'cimd.cache_fallback_ttl', `${ttl} is too short: use at least 1s`),
  ];
}

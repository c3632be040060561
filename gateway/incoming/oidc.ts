import { Closed, durationMs } from '../contract/fields.ts';
import { isEncrypted, rule } from '../contract/rule.ts';
import { defineMode } from './mode.ts';
import { createTokenValidator } from './sources/index.ts';
import type { GatewayConfig, Incoming } from '../contract/gateway-config.ts';
import { invalid, missing, problem, type Problem } from '../contract/problem.ts';

interface OidcAuth {
  readonly type: string;
  readonly oidcConfig?: unknown;
  readonly oidcConfigRef?: unknown;
}

/** Bearer tokens of one issuer, which `oidcConfig` or `oidcConfigRef` describes. */
export const oidc = defineMode({
  type: 'oidc',
  description: 'clients must send a bearer token.',
  hasUsers: true,
  acceptsAuthServer: true,
  spec: undefined,
  members: ['oidcConfig', 'oidcConfigRef'],
  incomingRules: [
    rule<OidcAuth>('', {
      rule: "self.type != 'oidc' || has(self.oidcConfig) != has(self.oidcConfigRef)",
      message: 'when type is oidc, set exactly one of oidcConfig and oidcConfigRef',
      check: ({ type, oidcConfig, oidcConfigRef }) =>
        type !== 'oidc' || (oidcConfig === undefined) !== (oidcConfigRef === undefined),
    }),
  ],
  config: Closed({}),
  resolve: (_, scope) => scope.tokens() ?? {},
  check: oidcProblems,
  issuer: ({ oidc_config: config }) => config?.issuer ?? 'the cluster',
  create: (_, { document, ...deps }) => createTokenValidator(document, deps),
});

type Oidc = NonNullable<GatewayConfig['oidc_config']>;

const PATH = 'vmcp.incoming';

/** Members of `vmcp.incoming` that apply to service account tokens only. */
const SERVICE_ACCOUNT = ['service_account', 'namespace', 'use_cluster_auth'] as const;

/** Lists the problems of `vmcp.incoming` and `oidc_config` in mode `oidc`. */
function oidcProblems({ vmcp, oidc_config: oidc }: GatewayConfig): Problem[] {
  const { incoming } = vmcp;
  if (!oidc) {
    const message = 'vmcp.incoming.type oidc needs oidc_config, which names the issuer of the accepted tokens: set it';
    return [missing('oidc_config', message)];
  }
  return [
    ...claimProblems(incoming, oidc),
    ...sourceProblems(incoming),
    ...accountProblems(incoming, vmcp.namespace),
    ...clientProblems(incoming, oidc),
    ...introspectionProblems(incoming, oidc),
    ...urlProblems(oidc),
  ];
}

/** Rejects a bare name without a namespace: it would match that account in every namespace. */
function accountProblems({ service_account: account, namespace }: Incoming, ownNamespace?: string): Problem[] {
  if (account === undefined || /[:/]/u.test(account) || (namespace ?? ownNamespace) !== undefined) return [];
  const message = `"${account}" is in no namespace: write NAMESPACE:${account}, or set ${PATH}.namespace`;
  return [missing(`${PATH}.service_account`, message)];
}

/** Requires issuer and audience. The issuer of a cluster's tokens is read from the cluster. */
function claimProblems({ source }: Incoming, { issuer = '', audience = '' }: Oidc): Problem[] {
  const problems: Problem[] = [];
  if (issuer === '' && source !== 'kubernetes') {
    const message = 'set oidc_config.issuer: without it, tokens of anybody would be accepted';
    problems.push(missing('oidc_config.issuer', message));
  }
  if (audience === '') {
    const message = 'set oidc_config.audience: without it, a token for any other service would be accepted';
    problems.push(missing('oidc_config.audience', message));
  }
  return problems;
}

function sourceProblems(incoming: Incoming): Problem[] {
  if (incoming.source === 'kubernetes') return [];
  return SERVICE_ACCOUNT.filter((member) => incoming[member] !== undefined).map((member) =>
    problem(
      'RuleViolated',
      `${PATH}.${member}`,
      `only service account tokens have ${member}: set ${PATH}.source to kubernetes, or remove it`,
    ),
  );
}

function clientProblems(incoming: Incoming, oidc: Oidc): Problem[] {
  const problems: Problem[] = [];
  if (oidc.clientSecret !== undefined) {
    const message = 'a secret does not stand in this document: write it to a file and name that in clientSecretFile';
    problems.push(problem('SecretInConfig', 'oidc_config.clientSecret', message));
  }
  if (oidc.clientID === undefined && oidc.clientSecretFile !== undefined) {
    problems.push(missing('oidc_config.clientID', 'clientSecretFile needs clientID: set it'));
  }
  if (oidc.clientID === undefined && oidc.private_key_jwt) {
    problems.push(missing('oidc_config.clientID', 'private_key_jwt needs clientID: set it'));
  }
  if (oidc.clientSecretFile !== undefined && oidc.private_key_jwt) {
    problems.push(invalid('oidc_config.private_key_jwt', 'set clientSecretFile or private_key_jwt, not both'));
  }
  if (oidc.clientID === undefined && incoming.require_client_id === true) {
    const message = `${PATH}.require_client_id needs oidc_config.clientID: set it`;
    problems.push(missing('oidc_config.clientID', message));
  }
  return problems;
}

const MAX_CACHE_TTL_MS = 300_000;

function introspectionProblems(
  { introspection, source }: Incoming,
  { clientSecretFile, private_key_jwt: key }: Oidc,
): Problem[] {
  if (!introspection) return [];
  const path = `${PATH}.introspection`;
  const problems: Problem[] = [];
  if ((clientSecretFile === undefined && !key) || source === 'kubernetes') {
    const message =
      'only opaque tokens of an external issuer are introspected, with oidc_config.clientSecretFile or private_key_jwt: set one, or remove this block';
    problems.push(problem('RuleViolated', path, message));
  }
  if (durationMs(introspection.cache_ttl ?? '0s') > MAX_CACHE_TTL_MS) {
    const message = 'a token that was revoked would be accepted for too long: use at most 5m';
    problems.push(problem('InvalidDuration', `${path}.cache_ttl`, message));
  }
  return problems;
}

/** Addresses that the gateway calls; clients call `resourceURL`. */
const CALLED = ['issuer', 'jwksurl', 'introspectionURL'] as const;

function urlProblems(oidc: Oidc): Problem[] {
  const called = CALLED.flatMap((member) => {
    const url = oidc[member];
    if (url === undefined || url === '') return [];
    const found = urlProblem(url, `oidc_config.${member}`);
    if (found) return [found];
    if (isEncrypted(url) || oidc.insecureAllowHTTP === true) return [];
    const message = 'http is not encrypted: use https, or set oidc_config.insecureAllowHTTP: true';
    return [problem('InsecureUrl', `oidc_config.${member}`, message)];
  });
  const resource = oidc.resourceURL === undefined ? undefined : urlProblem(oidc.resourceURL, 'oidc_config.resourceURL');
  return [...called, ...(resource ? [resource] : [])];
}

function urlProblem(text: string, path: string): Problem | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/u.test(url.protocol)) {
    return problem('InvalidUrl', path, 'this is no http or https URL: write https://HOST/PATH');
  }
  if (url.username !== '' || url.password !== '') {
    const message = 'the URL contains a user name or password: remove it';
    return problem('CredentialsInUrl', path, message);
  }
  if (!text.includes('#')) return undefined;
  return problem('InvalidUrl', path, 'the URL has a fragment: remove everything from the # on');
}

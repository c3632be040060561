import type { Static, TObject } from 'typebox';
import { SCOPE_PATTERN } from '../../../contract/fields.ts';
import { ATOMIC, flag, text, textMap, texts } from '../../../contract/optional.ts';
import {
  privateKeyJwtSpec,
  resolvePrivateKeyJwt,
  SECRET_OR_KEY,
} from '../../../contract/run-config/private-key-jwt.ts';
import { invalid, missing, type Problem } from '../../../contract/problem.ts';
import type { ProviderConfig } from '../../../contract/run-config/upstreams.ts';
import { caBundleRef, secretKeyRef, type BundleRef } from '../../../contract/references.ts';
import { atMostOne, safeUrl, rule, type Rule } from '../../../contract/rule.ts';
import { parameterProblems } from './additional-params.ts';
import { ClientAuthentication, type ClientSecret, type SignedClient } from '../protocol/client-authentication.ts';
import { CodeClient, type CodeClientOptions } from '../protocol/code-client.ts';
import { Guards } from '../protocol/guards.ts';
import type { UpstreamDeps, UpstreamScope } from '../upstream.ts';
import { urlProblems } from '../../../contract/addresses.ts';
import { ClientAssertion } from '../../../private-keys/client-assertion.ts';
import { UpstreamError } from '../upstream-error.ts';

/** Fields that all types of providers have in a resource. */
export const commonSpec = {
  clientSecretRef: secretKeyRef('Client secret. Absent for a public client.'),
  privateKeyJwt: privateKeyJwtSpec(),
  scopes: texts('Scopes to request.', { maxItems: 64, ...ATOMIC }),
  redirectUri: text(
    'Redirect URI of the callback. Defaults to `<issuer>/oauth/callback`, followed by `/<name>` for every provider after the first that does not support `iss` in callbacks (RFC 9207).',
    {
      pattern: '^https?://[^\\s#]+$',
      maxLength: 2048,
    },
  ),
  additionalAuthorizationParams: textMap('Additional parameters of the authorization request.', { maxProperties: 16 }),
  additionalTokenParams: textMap('Additional parameters of token requests, for a code and for a refresh.', {
    maxProperties: 16,
  }),
  omitScopeOnRefresh: flag(
    'Never send `scopes` with a refresh. By default they are sent if the provider granted all of them.',
  ),
  caBundleRef: caBundleRef(),
  allowPrivateIPs: flag('Allow the provider to resolve to private addresses.'),
  insecureAllowHTTP: flag('Allow http URLs for the provider.'),
};

interface CommonSpec extends Pick<Static<TObject<typeof commonSpec>>, 'privateKeyJwt'> {
  readonly clientSecretRef?: { readonly name: string; readonly key: string };
  readonly scopes?: readonly string[];
  readonly redirectUri?: string;
  readonly additionalAuthorizationParams?: Readonly<Record<string, string>>;
  readonly additionalTokenParams?: Readonly<Record<string, string>>;
  readonly omitScopeOnRefresh?: boolean;
  readonly caBundleRef?: BundleRef;
  readonly allowPrivateIPs?: boolean;
  readonly insecureAllowHTTP?: boolean;
}

export function resolveCommon(spec: CommonSpec, scope: UpstreamScope) {
  const { additionalAuthorizationParams: authorization, additionalTokenParams: token } = spec;
  const bundle = scope.bundleFile(spec.caBundleRef, 'caBundleRef');
  return {
    ...(spec.clientSecretRef && { client_secret_file: scope.secretFile(spec.clientSecretRef) }),
    ...(spec.privateKeyJwt && { private_key_jwt: resolvePrivateKeyJwt(spec.privateKeyJwt, scope) }),
    ...(spec.redirectUri !== undefined && { redirect_uri: spec.redirectUri }),
    ...(spec.scopes && { scopes: [...spec.scopes] }),
    ...(authorization && { additional_authorization_params: { ...authorization } }),
    ...(token && { additional_token_params: { ...token } }),
    ...(spec.omitScopeOnRefresh && { omit_scope_on_refresh: true }),
    ...(bundle !== undefined && { ca_file: bundle }),
    ...(spec.allowPrivateIPs && { allow_private_ips: true }),
    ...(spec.insecureAllowHTTP && { insecure_allow_http: true }),
  };
}

const SCOPE_TOKEN = new RegExp(SCOPE_PATTERN, 'u');

/** Lists the problems of the common fields that the schema cannot express. */
export function commonProblems(config: ProviderConfig, isRegistered = false): Problem[] {
  const { client_secret_file: file, client_secret_env_var: variable, private_key_jwt: key } = config;
  return [
    ...(!isRegistered && (config.client_id === undefined || config.client_id === '')
      ? [missing('client_id', 'set client_id')]
      : []),
    ...(file !== undefined && variable !== undefined
      ? [invalid('client_secret_env_var', 'set client_secret_file or client_secret_env_var, not both')]
      : []),
    ...(key && (file ?? variable) !== undefined ? [invalid('private_key_jwt', SECRET_OR_KEY)] : []),
    ...redirectProblems(config.redirect_uri),
    ...(config.scopes ?? [])
      .filter((scope) => !SCOPE_TOKEN.test(scope))
      .map(() => invalid('scopes', 'a scope is one word (RFC 6749 §3.3): write one scope per item')),
    ...parameterProblems(config),
  ];
}

/** Checks the redirect URI. Allows http, since the gateway never calls this URL; the issuer has its own check. */
function redirectProblems(redirectUri: string | undefined): Problem[] {
  if (redirectUri === undefined) return [];
  const problems = urlProblems(redirectUri, 'redirect_uri', true);
  if (problems.length > 0) return problems;
  const url = new URL(redirectUri);
  if (url.search === '' && !redirectUri.includes('?') && url.href === redirectUri) return [];
  const message = `providers compare the exact text: write ${url.origin}${url.pathname}, without a query`;
  return [invalid('redirect_uri', message)];
}

type Holder = Readonly<Record<string, { readonly endpointUrl?: string } | boolean | undefined>>;

/** Returns the rule `safeUrl` for the userinfo endpoint; its flag is in the enclosing block. */
export function safeUserInfoUrl(member: string): Rule {
  const inner = safeUrl('', 'endpointUrl');
  return rule<Holder>('', {
    field: `${member}.endpointUrl`,
    rule: `!has(self.${member}) || ${inner.rule.replaceAll('self.endpointUrl', `self.${member}.endpointUrl`)}`,
    message: inner.message,
    check: (self) => {
      const holder = self[member];
      if (typeof holder !== 'object') return true;
      return inner.check({ ...holder, insecureAllowHTTP: self['insecureAllowHTTP'] } as never);
    },
  });
}

export const createGuards = (config: ProviderConfig, deps: UpstreamDeps): Guards =>
  new Guards(
    {
      allowPrivateIPs: config.allow_private_ips,
      insecureAllowHTTP: config.insecure_allow_http,
      caFile: config.ca_file,
    },
    deps,
  );

/** Facts about the client at a provider. */
export interface CodeClientFacts extends Pick<CodeClientOptions, 'redirectUri' | 'rules'> {
  /** `aud` of assertions: the issuer, or the token endpoint where the issuer is unknown. */
  readonly audience: string;
}

/** Rules of the client's credential in a resource. */
export const credentialRules: readonly Rule[] = [atMostOne('', 'clientSecretRef', 'privateKeyJwt')];

/** Creates the client of the code flow at a provider. `secret` is the configured one by default. */
export const createCodeClient = (
  config: ProviderConfig,
  deps: UpstreamDeps,
  { redirectUri, rules, audience }: CodeClientFacts,
  secret = configuredSecret(config, deps),
): CodeClient =>
  new CodeClient({
    clientId: config.client_id ?? '',
    redirectUri,
    authentication: new ClientAuthentication(secret, configuredKey(config, audience, deps)),
    tokenParameters: config.additional_token_params,
    rules,
    timeoutMs: deps.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    now: deps.now,
  });

/** Returns the redirect URI of a provider. @param sendsIss its metadata state that every callback has `iss`. */
export const redirectUriOf = (
  { redirect_uri: configured }: ProviderConfig,
  { redirectUri, ownRedirectUri }: UpstreamDeps,
  sendsIss: boolean,
): string => configured ?? (sendsIss ? redirectUri : (ownRedirectUri ?? redirectUri));

export const DEFAULT_TIMEOUT_MS = 10_000;

type Source = Pick<ProviderConfig, 'client_secret_file' | 'client_secret_env_var'>;

/** Returns the client secret in the file or environment variable of a configuration. */
const configuredSecret =
  (
    { client_secret_file: file, client_secret_env_var: variable }: Source,
    deps: Pick<UpstreamDeps, 'readSecret' | 'readEnvironment'>,
  ): ClientSecret =>
  () => {
    if (file === undefined && variable === undefined) return undefined;
    const secret = file === undefined ? deps.readEnvironment?.(variable ?? '') : read(file, deps);
    if (secret !== undefined && secret !== '') return secret;
    const place = file === undefined ? `environment variable ${String(variable)}` : `file ${file}`;
    throw new UpstreamError('misconfigured', `the client secret is missing: the ${place} is empty or missing`);
  };

function read(file: string, { readSecret }: Pick<UpstreamDeps, 'readSecret'>): string {
  try {
    return readSecret(file).trim();
  } catch (error) {
    const message = error instanceof Error ? error.message : 'it cannot be read';
    throw new UpstreamError('misconfigured', `the client secret is missing: ${message}`);
  }
}

/** Returns the client with the private key of a configuration; undefined when it has no key. @param audience default of `aud`. */
function configuredKey(
  { private_key_jwt: key }: Pick<ProviderConfig, 'private_key_jwt'>,
  audience: string,
  deps: Pick<UpstreamDeps, 'readSecret' | 'now'>,
): SignedClient | undefined {
  if (!key) return undefined;
  const assertion = new ClientAssertion(key, deps);
  return (request) =>
    assertion.parameters({ ...request, audience }).catch((error: unknown) => {
      const cause = error instanceof Error ? error.message : 'it cannot be read';
      throw new UpstreamError('misconfigured', `the private key is unusable: ${cause}`);
    });
}

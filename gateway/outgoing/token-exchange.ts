import { Type } from 'typebox';
import { Closed, DnsLabel, HttpUrl } from '../contract/fields.ts';
import type { Identity } from '../contract/identity.ts';
import { ATOMIC, flag, text, texts } from '../contract/optional.ts';
import { secretKeyRef } from '../contract/references.ts';
import { HEADER_NAME_PATTERN, needs, safeOptionalHeader, safeUrl } from '../contract/rule.ts';
import { CredentialError, type Authenticator, type StrategyDeps } from './authenticator.ts';
import { bearerHeaders, headerNameProblems, placedIn, readSecretFile } from './credential-header.ts';
import { defineStrategy } from './strategy.ts';
import { TokenExchangeCache, type ExchangedToken } from './token-exchange-cache.ts';
import { tokenExchangeConfig, tokenExchangeProblems, type TokenExchangeConfig } from './token-exchange-config.ts';
import { readTokenReply } from './token-exchange-reply.ts';
import { basicAuthorization, postToTokenEndpoint } from './token-exchange-request.ts';
import { callerOf, unknownProvider, upstreamTokenOf } from './upstream-subject.ts';

const URN = 'urn:ietf:params:oauth:token-type:';
const TOKEN_TYPE_PATTERN = '^(access_token|id_token|jwt|urn:ietf:params:oauth:token-type:(access_token|id_token|jwt))$';

/** An absolute URI without fragment. */
const RESOURCE_PATTERN = '^[A-Za-z][A-Za-z0-9+.-]*:[^\\s#]+$';

const spec = Closed(
  {
    tokenUrl: HttpUrl('Exchange endpoint.', { maxLength: 2048 }),
    clientId: text('Client identifier.', { maxLength: 256 }),
    clientSecretRef: secretKeyRef('Client secret.'),
    audience: text('`audience` of the request; left out when absent.', { maxLength: 2048 }),
    resource: text('`resource` of the request (RFC 8707); left out when absent.', {
      pattern: RESOURCE_PATTERN,
      maxLength: 2048,
    }),
    scopes: texts('`scope` of the request.', { maxItems: 64, ...ATOMIC }),
    subjectProviderName: Type.Optional(
      DnsLabel('Upstream provider whose stored token is the subject; the JWT issued by the gateway when absent.'),
    ),
    subjectTokenType: text('`subject_token_type` of the request, short or as URN.', { pattern: TOKEN_TYPE_PATTERN }),
    externalTokenHeaderName: text('Header that carries the exchanged token in place of Authorization.', {
      pattern: HEADER_NAME_PATTERN,
      maxLength: 255,
    }),
    allowPrivateIPs: flag('Let the endpoint resolve to a private address.'),
    insecureAllowHTTP: flag('Let the endpoint be spoken to without TLS.'),
  },
  { description: 'Set when `type` is `tokenExchange`.' },
);

/**
 * Exchanges the caller's token, or a stored upstream token, for one that the backend accepts. The caller's own token
 * leaves the process here and nowhere else, and to `token_url` only.
 * @see RFC 8693
 */
export const tokenExchange = defineStrategy({
  type: 'tokenExchange',
  description: 'RFC 8693 exchange for a token that the backend accepts.',
  perUser: true,
  spec,
  rules: [
    safeUrl('', 'tokenUrl'),
    needs('', 'clientSecretRef', 'clientId'),
    safeOptionalHeader('', 'externalTokenHeaderName', ['authorization']),
  ],
  config: tokenExchangeConfig,
  resolve(given, scope) {
    const { subjectProviderName: provider, externalTokenHeaderName: header, clientSecretRef } = given;
    scope.checkUrl(given.tokenUrl, 'tokenUrl', given);
    if (provider !== undefined && !scope.upstreams.has(provider)) {
      scope.problem(unknownProvider(provider, 'subjectProviderName', scope));
    }
    const misnamed = header === undefined ? [] : headerNameProblems(header, 'externalTokenHeaderName');
    for (const problem of misnamed) scope.problem(problem);
    return {
      token_url: given.tokenUrl,
      ...(given.clientId !== undefined && { client_id: given.clientId }),
      ...(clientSecretRef && { client_secret_file: scope.secretFile(clientSecretRef) }),
      ...(given.audience !== undefined && { audience: given.audience }),
      ...(given.resource !== undefined && { resource: given.resource }),
      ...(given.scopes && { scopes: given.scopes }),
      ...(provider !== undefined && { subject_provider_name: provider }),
      ...(given.subjectTokenType !== undefined && { subject_token_type: given.subjectTokenType }),
      ...(header !== undefined && { header_strategy: 'custom' as const, external_token_header_name: header }),
      ...(given.allowPrivateIPs && { allow_private_ips: true }),
      ...(given.insecureAllowHTTP && { insecure_allow_http: true }),
    };
  },
  check: tokenExchangeProblems,
  create: exchanger,
});

function exchanger(settings: TokenExchangeConfig, deps: StrategyDeps): Authenticator {
  const { header_strategy, external_token_header_name: custom_name } = settings;
  const header = placedIn({ header_strategy, custom_name });
  const cache = new TokenExchangeCache(deps.now);
  const exchange = (caller: Identity) => exchangeFor(caller, header, settings, deps);
  return {
    perUser: true,
    headers: (caller) => cache.get(callerOf(caller, deps), exchange),
    refused(caller, sent) {
      if (!caller || sent[header] === undefined) return false;
      cache.evict(caller, (headers) => headers[header] === sent[header]);
      return true;
    },
  };
}

async function exchangeFor(
  caller: Identity,
  header: string,
  settings: TokenExchangeConfig,
  deps: StrategyDeps,
): Promise<ExchangedToken> {
  const { subject_provider_name: provider } = settings;
  const subject = await subjectOf(caller, settings, deps);
  const reply = await postToTokenEndpoint(
    {
      url: settings.token_url,
      ...requestOf(subject.token, settings, deps),
      allowPrivateIPs: settings.allow_private_ips === true,
      insecureAllowHTTP: settings.insecure_allow_http === true,
    },
    deps,
  );
  const { accessToken, expiresInSeconds } = readTokenReply(reply, provider);
  const headers = bearerHeaders(header, accessToken);
  if (headers) return { headers, expiresInSeconds, subjectExpiresAt: subject.expiresAt };
  const message = 'the token endpoint gave a token that holds a character that no header may hold';
  throw new CredentialError('misconfigured', message);
}

interface Subject {
  readonly token: string;
  /** ms since the epoch. */
  readonly expiresAt: number | undefined;
}

const tokenTypeOf = ({ subject_token_type: type = 'access_token' }: TokenExchangeConfig): string =>
  type.startsWith(URN) ? type : URN + type;

async function subjectOf(caller: Identity, settings: TokenExchangeConfig, deps: StrategyDeps): Promise<Subject> {
  const { subject_provider_name: provider } = settings;
  if (provider === undefined) return { token: caller.token.reveal(), expiresAt: caller.expiresAt };
  const wantsIdToken = tokenTypeOf(settings) === `${URN}id_token`;
  const stored = await upstreamTokenOf(caller, provider, deps, wantsIdToken ? { idToken: true } : undefined);
  if (!wantsIdToken) return { token: stored.accessToken.reveal(), expiresAt: stored.expiresAt };
  const { idToken, idTokenExpiresAt } = stored;
  if (idToken && !(idTokenExpiresAt !== undefined && idTokenExpiresAt <= deps.now())) {
    return { token: idToken.reveal(), expiresAt: idTokenExpiresAt };
  }
  throw new CredentialError('reauthenticate', `provider "${provider}" left no ID token that is still valid`, provider);
}

/** RFC 8693 §2.1; the client authenticates by RFC 6749 §2.3.1 where it has a secret. */
function requestOf(subjectToken: string, settings: TokenExchangeConfig, deps: StrategyDeps) {
  const { client_id: id, client_secret_file: secretFile, audience, resource, scopes = [] } = settings;
  const secret = secretFile === undefined ? undefined : readSecretFile(deps, secretFile);
  if (secret === '') throw new CredentialError('misconfigured', `the file ${String(secretFile)} is empty`);
  return {
    form: {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subjectToken,
      subject_token_type: tokenTypeOf(settings),
      requested_token_type: `${URN}access_token`,
      ...(audience !== undefined && audience !== '' && { audience }),
      ...(resource !== undefined && { resource }),
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      ...(id !== undefined && secret === undefined && { client_id: id }),
    },
    headers: {
      accept: 'application/json',
      ...(id !== undefined && secret !== undefined && { authorization: basicAuthorization(id, secret) }),
    },
  };
}

import { Type } from 'typebox';
import { Closed, DnsLabel, HttpUrl } from '../../contract/fields.ts';
import { headerNameProblems, reservedRule } from '../../contract/reserved-names.ts';
import type { Identity, Secret } from '../../contract/identity.ts';
import { ATOMIC, flag, text, textMap, texts } from '../../contract/optional.ts';
import { privateKeyJwtSpec, resolvePrivateKeyJwt } from '../../contract/run-config/private-key-jwt.ts';
import { secretKeyRef } from '../../contract/references.ts';
import {
  atMostOne,
  HEADER_NAME_PATTERN,
  needs,
  OWN_CREDENTIAL,
  safeOptionalHeader,
  safeUrl,
} from '../../contract/rule.ts';
import { CredentialError, type Authenticator, type StrategyDeps } from '../authenticator.ts';
import { bearerHeaders, placedIn } from '../credential-header.ts';
import { postWithRetry } from '../post-with-retry.ts';
import { defineStrategy } from '../strategy.ts';
import { TokenExchangeCache, TokenExchangeRefusals, type EarlierExchange, type ExchangeResult } from './cache.ts';
import {
  AUTH_METHODS,
  RESERVED,
  requestedTokenType,
  subjectTokenType,
  tokenExchangeConfig,
  tokenExchangeProblems,
  type TokenExchangeConfig,
} from './config.ts';
import { ExchangeRefused, readTokenReply, type ExchangeAsked } from './reply.ts';
import { asksForNothingSpecial, ExchangeClient, exchangeRequest } from './request.ts';
import { claimsOf, ExchangedAudiences, isNew, issuedAt } from './token-claims.ts';
import { requireCaller, unknownProviderProblem, getUpstreamToken } from '../upstream-subject.ts';

const TOKEN_TYPE_PATTERN = '^(access_token|id_token|jwt|urn:ietf:params:oauth:token-type:(access_token|id_token|jwt))$';

/** An absolute URI without fragment. */
const RESOURCE_PATTERN = '^[A-Za-z][A-Za-z0-9+.-]*:[^\\s#]+$';

const spec = Closed(
  {
    tokenUrl: HttpUrl('Token endpoint for the exchange.', { maxLength: 2048 }),
    clientId: text('Client identifier.', { maxLength: 256 }),
    clientSecretRef: secretKeyRef('Client secret.'),
    privateKeyJwt: privateKeyJwtSpec(),
    audience: text('`audience` parameter of the request. Omitted when absent.', { maxLength: 2048 }),
    resource: text('`resource` parameter of the request (RFC 8707). Omitted when absent.', {
      pattern: RESOURCE_PATTERN,
      maxLength: 2048,
    }),
    scopes: texts('`scope` parameter of the request.', { maxItems: 64, ...ATOMIC }),
    additionalParams: textMap('Additional parameters of the request, such as `connector_id` of Dex.', {
      maxProperties: 16,
    }),
    subjectProviderName: Type.Optional(
      DnsLabel(
        'Upstream provider whose stored token is exchanged. When absent, the JWT that the gateway issued is exchanged.',
      ),
    ),
    subjectTokenType: text('`subject_token_type` parameter of the request, as a short name or a URN.', {
      pattern: TOKEN_TYPE_PATTERN,
    }),
    requestedTokenType: text(
      '`requested_token_type` parameter of the request, as a short name or a URN. Defaults to `access_token`.',
      {
        pattern: TOKEN_TYPE_PATTERN,
      },
    ),
    tokenEndpointAuthMethod: Type.Optional(
      Type.Enum([...AUTH_METHODS], {
        description:
          'Client authentication: in the Authorization header (`client_secret_basic`, the default) or in the form (`client_secret_post`).',
      }),
    ),
    externalTokenHeaderName: text('Header that carries the exchanged token instead of Authorization.', {
      pattern: HEADER_NAME_PATTERN,
      maxLength: 255,
    }),
    allowPrivateIPs: flag('Allow the endpoint to resolve to a private address.'),
    insecureAllowHTTP: flag('Allow http URLs for the endpoint.'),
  },
  { description: 'Set when `type` is `tokenExchange`.' },
);

/**
 * Exchanges the user's token, or a stored upstream token, for one that the backend accepts. The user's own token
 * leaves the process only here, and only to `token_url`.
 * @see RFC 8693
 */
export const tokenExchange = defineStrategy({
  type: 'tokenExchange',
  description: 'The token is exchanged for one that the backend accepts (RFC 8693).',
  perUser: true,
  spec,
  rules: [
    safeUrl('', 'tokenUrl'),
    needs('', 'clientSecretRef', 'clientId'),
    needs('', 'privateKeyJwt', 'clientId'),
    atMostOne('', 'clientSecretRef', 'privateKeyJwt'),
    needs('', 'tokenEndpointAuthMethod', 'clientSecretRef'),
    safeOptionalHeader('', 'externalTokenHeaderName', OWN_CREDENTIAL),
    reservedRule('additionalParams', RESERVED),
  ],
  config: tokenExchangeConfig,
  resolve(given, scope) {
    const { subjectProviderName: provider, externalTokenHeaderName: header, clientSecretRef } = given;
    const { requestedTokenType: requested, tokenEndpointAuthMethod: method, privateKeyJwt } = given;
    scope.checkUrl(given.tokenUrl, 'tokenUrl', given);
    if (provider !== undefined && !scope.upstreams.has(provider)) {
      scope.problem(unknownProviderProblem(provider, 'subjectProviderName', scope));
    }
    const misnamed = header === undefined ? [] : headerNameProblems(header, 'externalTokenHeaderName', OWN_CREDENTIAL);
    for (const problem of misnamed) scope.problem(problem);
    return {
      token_url: given.tokenUrl,
      ...(given.clientId !== undefined && { client_id: given.clientId }),
      ...(clientSecretRef && { client_secret_file: scope.secretFile(clientSecretRef) }),
      ...(privateKeyJwt && { private_key_jwt: resolvePrivateKeyJwt(privateKeyJwt, scope) }),
      ...(given.audience !== undefined && { audience: given.audience }),
      ...(given.resource !== undefined && { resource: given.resource }),
      ...(given.scopes && { scopes: given.scopes }),
      ...(given.additionalParams && { additional_params: { ...given.additionalParams } }),
      ...(provider !== undefined && { subject_provider_name: provider }),
      ...(given.subjectTokenType !== undefined && { subject_token_type: given.subjectTokenType }),
      ...(requested !== undefined && { requested_token_type: requested }),
      ...(method !== undefined && { token_endpoint_auth_method: method }),
      ...(header !== undefined && { header_strategy: 'custom' as const, external_token_header_name: header }),
      ...(given.allowPrivateIPs && { allow_private_ips: true }),
      ...(given.insecureAllowHTTP && { insecure_allow_http: true }),
    };
  },
  check: tokenExchangeProblems,
  create: exchanger,
});

function exchanger(settings: TokenExchangeConfig, deps: StrategyDeps): Authenticator {
  const { header_strategy, external_token_header_name: custom_name, subject_provider_name: provider } = settings;
  const header = placedIn({ header_strategy, custom_name });
  const cache = new TokenExchangeCache(deps.now);
  const refusals = new TokenExchangeRefusals(deps.now);
  const audiences = new ExchangedAudiences(settings, deps);
  const client = new ExchangeClient(settings, deps);
  const exchange = (caller: Identity, earlier: EarlierExchange | undefined) =>
    exchangeFor(caller, earlier, { settings, header, deps, client, refusals, audiences });
  return {
    perUser: true,
    ...(provider !== undefined && { provider }),
    headers: (caller) => cache.get(requireCaller(caller, deps), exchange),
    refused(caller, sent) {
      if (!caller || sent[header] === undefined) return false;
      cache.refuse(caller, (headers) => headers[header] === sent[header]);
      return true;
    },
  };
}

interface Exchanger {
  readonly settings: TokenExchangeConfig;
  /** Name of the header that carries the token. */
  readonly header: string;
  readonly deps: StrategyDeps;
  readonly client: ExchangeClient;
  readonly refusals: TokenExchangeRefusals;
  readonly audiences: ExchangedAudiences;
}

async function exchangeFor(
  caller: Identity,
  earlier: EarlierExchange | undefined,
  { settings, header, deps, client, refusals, audiences }: Exchanger,
): Promise<ExchangeResult> {
  const secret = client.secret();
  refusals.check(caller, secret);
  const subject = await subjectOf(caller, earlier?.refused, settings, deps);
  let assertion = '';
  const request = async () => {
    const credential = await client.credential(secret);
    assertion = credential.assertion?.client_assertion ?? '';
    return exchangeRequest(subject.token, credential, settings);
  };
  const reply = await postWithRetry(request, deps);
  const isExpired = subject.expiresAt !== undefined && subject.expiresAt <= deps.now();
  const hasEnded = isExpired || earlier !== undefined;
  const asked: ExchangeAsked = {
    tokenType: requestedTokenType(settings),
    provider: settings.subject_provider_name,
    onlySubjectCanBeWrong: hasEnded || asksForNothingSpecial(settings),
    loginCannotHelp: !hasEnded && (refusals.isHopeless(caller) || isNew(subject.issuedAt, deps.now())),
    secrets: [subject.token, secret ?? '', assertion],
  };
  try {
    const { accessToken, expiresInSeconds } = readTokenReply(reply, asked);
    const headers = bearerHeaders(header, accessToken);
    if (headers) audiences.compare(accessToken);
    if (headers) return { headers, expiresInSeconds, subjectExpiresAt: subject.expiresAt, stored: subject.stored };
  } catch (error) {
    if (error instanceof ExchangeRefused) refusals.add(error, caller, secret);
    throw error;
  }
  const message = 'the token endpoint gave a token that holds a character that no header may hold';
  throw new CredentialError('misconfigured', message);
}

interface Subject {
  readonly token: string;
  /** ms since the epoch. */
  readonly expiresAt: number | undefined;
  /** ms since the epoch; undefined when unknown. */
  readonly issuedAt: number | undefined;
  /** Stored access token that is the subject, or that came with it. */
  readonly stored: Secret | undefined;
}

/** `refused`: the stored access token whose exchanged token the backend rejected. */
async function subjectOf(
  caller: Identity,
  refused: Secret | undefined,
  settings: TokenExchangeConfig,
  deps: StrategyDeps,
): Promise<Subject> {
  const { subject_provider_name: provider } = settings;
  if (provider === undefined) {
    const { token, expiresAt, claims } = caller;
    return { token: token.reveal(), expiresAt, issuedAt: issuedAt(claims), stored: undefined };
  }
  const wantsIdToken = subjectTokenType(settings) === 'id_token';
  const need = { ...(wantsIdToken && { idToken: true }), ...(refused && { refused }) };
  const { accessToken: stored, ...rest } = await getUpstreamToken(caller, provider, deps, need);
  if (!wantsIdToken) return { ...presented(stored), expiresAt: rest.expiresAt, stored };
  const { idToken, idTokenExpiresAt } = rest;
  if (idToken && !(idTokenExpiresAt !== undefined && idTokenExpiresAt <= deps.now())) {
    return { ...presented(idToken), expiresAt: idTokenExpiresAt, stored };
  }
  throw new CredentialError('reauthenticate', `provider "${provider}" left no ID token that is still valid`, provider);
}

const presented = (secret: Secret): Pick<Subject, 'token' | 'issuedAt'> => {
  const token = secret.reveal();
  return { token, issuedAt: issuedAt(claimsOf(token)) };
};

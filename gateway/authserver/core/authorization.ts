import { readChallenge } from './pkce.ts';
import { accepted, refused, wireError, type Checked, type RefusalReason } from './refusal.ts';
import type { RequestParameters } from './request-parameters.ts';
import { resolveResource } from './resource.ts';
import { requestedScopes } from './scope.ts';

/** Client and server properties that an authorization request is checked against. */
export interface AuthorizationRules {
  /** Metadata of the client, with the names of RFC 7591 §2. */
  readonly client: { readonly redirect_uris: readonly string[]; readonly scope: string };
  readonly scopesSupported: readonly string[];
  /** Configured audiences. */
  readonly audiences: readonly string[];
  readonly matchesRedirectUri: (registered: readonly string[], requested: string) => boolean;
}

/** Accepted authorization request. */
export interface AuthorizationRequest {
  readonly clientId: string;
  /** Redirect URI as requested: on a loopback address, with the port of this request. */
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly codeChallenge: string;
  readonly scopes: readonly string[];
  /** Configured spelling of the resource, which becomes `aud`. */
  readonly resource: string;
  readonly nonce: string | undefined;
  /** Every provider must authenticate the user again. */
  readonly reauthenticate: boolean;
  /** Show the consent page even if consent is remembered. */
  readonly askConsent: boolean;
}

/** Rejected authorization request: shown to the user as a page, or redirected to the client. */
type AuthorizationRefusal =
  | { readonly to: 'page'; readonly reason: RefusalReason }
  | {
      readonly to: 'client';
      readonly reason: RefusalReason;
      readonly redirectUri: string;
      readonly state: string | undefined;
    };

export type AuthorizationOutcome =
  | { readonly ok: true; readonly request: AuthorizationRequest }
  | { readonly ok: false; readonly refusal: AuthorizationRefusal };

/** Longest client id, at every endpoint. */
export const MAX_CLIENT_ID_LENGTH = 2048;
const MAX_STATE_BYTES = 2048;

/** Reads the client id, before the client is looked up. A rejection is shown as a page. */
export function readClientId(parameters: RequestParameters): Checked<string> {
  const clientId = parameters.one('client_id');
  if (clientId === undefined) return refused('client_id_missing');
  if (parameters.isDuplicated('client_id')) return refused('parameter_duplicated');
  return clientId.length <= MAX_CLIENT_ID_LENGTH ? accepted(clientId) : refused('client_id_too_long');
}

/**
 * Checks the request of a known client, and stops at the first violated rule. Redirects a rejection only after the
 * redirect URI is verified. @see RFC 6749 §4.1.2.1
 */
export function checkAuthorizationRequest(
  parameters: RequestParameters,
  rules: AuthorizationRules,
): AuthorizationOutcome {
  const clientId = readClientId(parameters);
  if (!clientId.ok) return toPage(clientId.reason);
  const redirectUri = redirectUriOf(parameters, rules);
  if (!redirectUri.ok) return toPage(redirectUri.reason);
  const answerTo = { redirectUri: redirectUri.value, state: stateToReturn(parameters) };
  const settled = runSteps(parameters, rules);
  if (!settled.ok) return { ok: false, refusal: { to: 'client', reason: settled.reason, ...answerTo } };
  return { ok: true, request: { clientId: clientId.value, ...answerTo, ...settled.value } };
}

const toPage = (reason: RefusalReason): AuthorizationOutcome => ({ ok: false, refusal: { to: 'page', reason } });

function redirectUriOf(
  parameters: RequestParameters,
  { client, matchesRedirectUri }: AuthorizationRules,
): Checked<string> {
  const requested = parameters.one('redirect_uri');
  if (requested === undefined) return refused('redirect_uri_missing');
  if (parameters.isDuplicated('redirect_uri')) return refused('parameter_duplicated');
  return matchesRedirectUri(client.redirect_uris, requested) ? accepted(requested) : refused('redirect_uri_mismatch');
}

/** Returns the state for a redirect; undefined when it is duplicated or too long. */
function stateToReturn(parameters: RequestParameters): string | undefined {
  const state = parameters.isDuplicated('state') ? undefined : parameters.one('state');
  return state !== undefined && isShort(state) ? state : undefined;
}

const isShort = (text: string): boolean => Buffer.byteLength(text) <= MAX_STATE_BYTES;

/** Rule that rejects the request or determines some of its members. */
type Step<Settled extends object> = (parameters: RequestParameters, rules: AuthorizationRules) => Checked<Settled>;

const NOTHING = accepted({});

const noDuplicates: Step<object> = (parameters) =>
  parameters.duplicated.length > 0 ? refused('parameter_duplicated') : NOTHING;

const noRequestObject: Step<object> = (parameters) => {
  if (parameters.one('request') !== undefined) return refused('request_object');
  return parameters.one('request_uri') === undefined ? NOTHING : refused('request_uri');
};

const responseType: Step<object> = (parameters) =>
  parameters.one('response_type') === 'code' ? NOTHING : refused('response_type');

const responseMode: Step<object> = (parameters) =>
  (parameters.one('response_mode') ?? 'query') === 'query' ? NOTHING : refused('response_mode');

const proofKey: Step<Pick<AuthorizationRequest, 'codeChallenge'>> = (parameters) => {
  const challenge = readChallenge(parameters.one('code_challenge'), parameters.one('code_challenge_method'));
  return challenge.ok ? accepted({ codeChallenge: challenge.value }) : challenge;
};

const stateLength: Step<object> = (parameters) =>
  isShort(parameters.one('state') ?? '') ? NOTHING : refused('state_too_long');

const scope: Step<Pick<AuthorizationRequest, 'scopes'>> = (parameters, { client, scopesSupported }) => {
  const scopes = requestedScopes(parameters.one('scope'), {
    supported: scopesSupported,
    registered: client.scope.split(' '),
  });
  return scopes.ok ? accepted({ scopes: scopes.value }) : scopes;
};

const resource: Step<Pick<AuthorizationRequest, 'resource'>> = (parameters, { audiences }) => {
  const audience = resolveResource(parameters.all('resource'), audiences);
  return audience.ok ? accepted({ resource: audience.value }) : audience;
};

const nonce: Step<Pick<AuthorizationRequest, 'nonce'>> = (parameters) => {
  const value = parameters.one('nonce');
  return isShort(value ?? '') ? accepted({ nonce: value }) : refused('nonce_too_long');
};

const PROMPTS = ['none', 'login', 'consent', 'select_account'];

/** Rejects `none`, since browsers have no login at this server. @see OpenID Connect Core §3.1.2.1 */
const prompt: Step<Pick<AuthorizationRequest, 'reauthenticate' | 'askConsent'>> = (parameters) => {
  const prompts = new Set((parameters.one('prompt') ?? '').split(' ').filter((value) => value !== ''));
  const none = prompts.has('none');
  if ([...prompts].some((value) => !PROMPTS.includes(value)) || (none && prompts.size > 1)) return refused('prompt');
  const maxAge = parameters.one('max_age');
  if (maxAge !== undefined && !/^[0-9]{1,10}$/.test(maxAge)) return refused('max_age');
  if (none) return refused('login_required');
  const reauthenticate = prompts.has('login') || prompts.has('select_account') || maxAge !== undefined;
  return accepted({ reauthenticate, askConsent: prompts.has('consent') });
};

/** Rules in order, after the redirect URI is verified. */
const STEPS = [
  noDuplicates,
  noRequestObject,
  responseType,
  responseMode,
  proofKey,
  stateLength,
  scope,
  resource,
  nonce,
  prompt,
] as const;

type Settling<Rule> = Rule extends Step<infer Members> ? (settled: Members) => void : never;

/** Members that all steps determine. */
type Settled = Settling<(typeof STEPS)[number]> extends (settled: infer All) => void ? All : never;

function runSteps(parameters: RequestParameters, rules: AuthorizationRules): Checked<Settled> {
  const settled: Partial<Settled> = {};
  for (const step of STEPS) {
    const outcome: Checked<object> = step(parameters, rules);
    if (!outcome.ok) return outcome;
    Object.assign(settled, outcome.value);
  }
  return accepted(settled as Settled); // every step has determined its members
}

interface AnswerTo {
  readonly redirectUri: string;
  readonly state: string | undefined;
  /** Sent in every response, so that clients of several servers can identify it. @see RFC 9207 §2 */
  readonly issuer: string;
}

/** Returns the redirect URL with a code. @see RFC 6749 §4.1.2 */
export const codeResponseUrl = (code: string, answerTo: AnswerTo): string => responseUrl([['code', code]], answerTo);

/** Returns the redirect URL with an error. @see RFC 6749 §4.1.2.1 */
export function errorResponseUrl(reason: RefusalReason, answerTo: AnswerTo): string {
  const { error, description } = wireError(reason);
  return responseUrl(
    [
      ['error', error],
      ['error_description', description],
    ],
    answerTo,
  );
}

function responseUrl(members: [string, string][], { redirectUri, state, issuer }: AnswerTo): string {
  const parameters = new URLSearchParams(members);
  if (state !== undefined) parameters.set('state', state);
  parameters.set('iss', issuer);
  return withParameters(redirectUri, parameters);
}

/** Appends parameters to the redirect URI without changing its spelling. */
function withParameters(redirectUri: string, parameters: URLSearchParams): string {
  const joint = !redirectUri.includes('?') ? '?' : /[?&]$/.test(redirectUri) ? '' : '&';
  return `${redirectUri}${joint}${parameters.toString()}`;
}

/** Returns the redirect URL after a logout. @see OpenID Connect RP-Initiated Logout §3 */
export const logoutResponseUrl = (redirectUri: string, state: string | undefined): string =>
  state === undefined ? redirectUri : withParameters(redirectUri, new URLSearchParams({ state }));

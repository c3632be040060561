import { setTimeout as sleep } from 'node:timers/promises';
import { CredentialError, type FormPost, type FormReply, type StrategyDeps } from '../authenticator.ts';
import { requestedTokenType, subjectTokenType, urnOf, type TokenExchangeConfig } from './config.ts';

const TIMEOUT_MS = 10_000;
const MAX_REPLY_BYTES = 1024 * 1024;
const RETRY_AFTER_MS = { least: 100, most: 300 };

/** Parameters for target and scope of the token. */
function targetOf({ audience = '', resource, scopes = [] }: TokenExchangeConfig): Readonly<Record<string, string>> {
  return {
    ...(audience !== '' && { audience }),
    ...(resource !== undefined && { resource }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  };
}

/** Returns true when the configuration adds nothing that an endpoint could reject. */
export const asksForNothingSpecial = (settings: TokenExchangeConfig): boolean =>
  Object.keys(targetOf(settings)).length === 0 &&
  requestedTokenType(settings) === 'access_token' &&
  subjectTokenType(settings) === 'access_token';

/** RFC 8693 §2.1; the client authenticates by RFC 6749 §2.3.1 where it has a secret. */
export function exchangeRequest(
  subjectToken: string,
  secret: string | undefined,
  settings: TokenExchangeConfig,
): Omit<FormPost, 'timeoutMs' | 'maxReplyBytes'> {
  const { client_id: id, token_endpoint_auth_method: method } = settings;
  const usesBasic = secret !== undefined && method !== 'client_secret_post';
  return {
    url: settings.token_url,
    form: {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subjectToken,
      subject_token_type: urnOf(subjectTokenType(settings)),
      requested_token_type: urnOf(requestedTokenType(settings)),
      ...targetOf(settings),
      ...(id !== undefined && !usesBasic && { client_id: id }),
      ...(secret !== undefined && !usesBasic && { client_secret: secret }),
    },
    headers: {
      accept: 'application/json',
      ...(id !== undefined && usesBasic && { authorization: basicAuthorization(id, secret) }),
    },
    allowPrivateIPs: settings.allow_private_ips === true,
    insecureAllowHTTP: settings.insecure_allow_http === true,
  };
}

/** Encodes client credentials by RFC 6749 §2.3.1: each part form-encoded, joined, then base64. */
function basicAuthorization(clientId: string, clientSecret: string): string {
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

const formEncoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

/** Returns the outbound guard's reason for a missing reply. */
const kindOf = (error: unknown): string => {
  const kind: unknown = error instanceof Error && 'kind' in error ? error.kind : undefined;
  return typeof kind === 'string' ? kind : 'unreachable';
};

/** Returns true when a retry is useless: the guard rejects the address, or the reply is not a token. */
const FINAL_KINDS: ReadonlySet<string> = new Set(['refused', 'too_large', 'redirect']);

/**
 * Posts to a token endpoint, with one retry after a pause when it is unreachable or answers 5xx. Rejects
 * with `CredentialError` without a reply.
 */
export async function postToTokenEndpoint(
  post: Omit<FormPost, 'timeoutMs' | 'maxReplyBytes'>,
  { postForm, log, backend }: StrategyDeps,
): Promise<FormReply> {
  const whole = { ...post, timeoutMs: TIMEOUT_MS, maxReplyBytes: MAX_REPLY_BYTES };
  const first = await attempt(whole, postForm);
  const again = first instanceof CredentialError ? first.fault === 'unavailable' : first.status >= 500;
  if (!again) return settle(first);
  const { least, most } = RETRY_AFTER_MS;
  log.debug('token exchange is tried again', { backend });
  await sleep(least + Math.random() * (most - least));
  return settle(await attempt(whole, postForm));
}

function settle(outcome: FormReply | CredentialError): FormReply {
  if (outcome instanceof CredentialError) throw outcome;
  return outcome;
}

async function attempt(post: FormPost, postForm: StrategyDeps['postForm']): Promise<FormReply | CredentialError> {
  try {
    return await postForm(post);
  } catch (error) {
    const kind = kindOf(error);
    const fault = FINAL_KINDS.has(kind) ? 'misconfigured' : 'unavailable';
    return new CredentialError(fault, `the token endpoint gave no reply that can be used (${kind})`);
  }
}

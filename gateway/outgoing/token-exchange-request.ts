import { setTimeout as sleep } from 'node:timers/promises';
import { CredentialError, type FormPost, type FormReply, type StrategyDeps } from './authenticator.ts';

const TIMEOUT_MS = 10_000;
const MAX_REPLY_BYTES = 1024 * 1024;
const RETRY_AFTER_MS = { least: 100, most: 300 };

/** Client credentials as RFC 6749 §2.3.1 wants them: each part form-encoded, then joined, then base64. */
export function basicAuthorization(clientId: string, clientSecret: string): string {
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

const formEncoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

/** Why no reply came, where the outbound guard says it. */
const kindOf = (error: unknown): string => {
  const kind: unknown = error instanceof Error && 'kind' in error ? error.kind : undefined;
  return typeof kind === 'string' ? kind : 'unreachable';
};

/** The guard refuses the address, or the endpoint answers with something that is no token: another try changes nothing. */
const FINAL_KINDS: ReadonlySet<string> = new Set(['refused', 'too_large', 'redirect']);

/**
 * Posts to a token endpoint; once more after a pause when it cannot be reached or has trouble of its own (5xx). Rejects
 * with `CredentialError` when no reply came.
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

import { setTimeout as sleep } from 'node:timers/promises';
import { CredentialError, type FormPost, type FormReply, type StrategyDeps } from './authenticator.ts';

const TIMEOUT_MS = 10_000;
const MAX_REPLY_BYTES = 1024 * 1024;
const RETRY_AFTER_MS = { least: 100, most: 300 };

export type UnlimitedPost = Omit<FormPost, 'timeoutMs' | 'maxReplyBytes'>;

/** Returns the outbound guard's reason for a missing reply. */
const kindOf = (error: unknown): string => {
  const kind: unknown = error instanceof Error && 'kind' in error ? error.kind : undefined;
  return typeof kind === 'string' ? kind : 'unreachable';
};

/** Returns true when a retry is useless: the guard rejects the address, or the reply is not a token. */
const FINAL_KINDS: ReadonlySet<string> = new Set(['refused', 'too_large', 'redirect', 'not_text']);

/**
 * Posts to an endpoint of credentials, with one retry after a pause when it is unreachable or answers 5xx. Rejects
 * with `CredentialError` without a reply. `request` makes each request anew; `endpoint` names the endpoint in errors.
 */
export async function postWithRetry(
  request: () => UnlimitedPost | Promise<UnlimitedPost>,
  { postForm, log, backend }: StrategyDeps,
  endpoint = 'the token endpoint',
): Promise<FormReply> {
  const first = await attempt(await request(), postForm, endpoint);
  const again = first instanceof CredentialError ? first.fault === 'unavailable' : first.status >= 500;
  if (!again) return settle(first);
  const { least, most } = RETRY_AFTER_MS;
  log.debug('request for a credential is tried again', { backend });
  await sleep(least + Math.random() * (most - least));
  return settle(await attempt(await request(), postForm, endpoint));
}

function settle(outcome: FormReply | CredentialError): FormReply {
  if (outcome instanceof CredentialError) throw outcome;
  return outcome;
}

async function attempt(
  post: UnlimitedPost,
  postForm: StrategyDeps['postForm'],
  endpoint: string,
): Promise<FormReply | CredentialError> {
  try {
    return await postForm({ ...post, timeoutMs: TIMEOUT_MS, maxReplyBytes: MAX_REPLY_BYTES });
  } catch (error) {
    const kind = kindOf(error);
    const fault = FINAL_KINDS.has(kind) ? 'misconfigured' : 'unavailable';
    return new CredentialError(fault, `${endpoint} gave no reply that can be used (${kind})`);
  }
}

import type { CredentialHeaders } from '../../outgoing/authenticator.ts';
import { BackendError } from '../transport/channel.ts';

/** Waits for a credential no longer than for a reply. Calls `fail` with a `BackendError` after `timeoutMs`. */
export function onCredential(
  credential: Promise<CredentialHeaders>,
  timeoutMs: number,
  use: (credential: CredentialHeaders) => void,
  fail: (error: unknown) => void,
): void {
  const timer = setTimeout(() => {
    fail(new BackendError({ kind: 'timeout', detail: `no credential after ${String(timeoutMs)} ms` }));
  }, timeoutMs);
  credential
    .finally(() => {
      clearTimeout(timer);
    })
    .then(use, fail);
}

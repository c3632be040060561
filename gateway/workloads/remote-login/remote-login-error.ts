import { OutboundError } from '../../outbound/outbound-error.ts';
import { UpstreamError } from '../../authserver/upstream/upstream-error.ts';

/** A login at a remote server cannot start. `message` is for users: it contains no secret and quotes no reply. */
export class RemoteLoginError extends Error {
  /** True when a later attempt may succeed with the same settings. */
  readonly isTemporary: boolean;
  constructor(message: string, { isTemporary = false } = {}) {
    super(message);
    this.name = 'RemoteLoginError';
    this.isTemporary = isTemporary;
  }
}

/** Returns the sentence about an error, with the error code of the authorization server. */
export function reasonOf(error: unknown): string {
  if (error instanceof UpstreamError) {
    const { message, providerError } = error;
    return providerError === undefined ? message : `${message} (${providerError})`;
  }
  return error instanceof RemoteLoginError || error instanceof OutboundError ? error.message : 'unexpected error';
}

/** Converts an error of discovery, registration or the outbound guard. */
export function asRemoteLoginError(error: unknown): RemoteLoginError {
  if (error instanceof RemoteLoginError) return error;
  const isTemporary =
    (error instanceof UpstreamError && error.fault === 'unavailable') ||
    (error instanceof OutboundError && (error.kind === 'timeout' || error.kind === 'unreachable'));
  return new RemoteLoginError(reasonOf(error), { isTemporary });
}

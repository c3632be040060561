import { BackendError, type BackendFailure } from '../channel.ts';

/** Returns the failure that `pending` rejects with. @throws Error when it resolves or rejects with anything else */
export async function failureOf(pending: Promise<unknown>): Promise<BackendFailure> {
  const error: unknown = await pending.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof BackendError) return error.failure;
  throw new Error(`expected a BackendError, got ${String(error)}`, { cause: error });
}

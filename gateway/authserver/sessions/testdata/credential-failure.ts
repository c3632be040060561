import { CredentialError } from '../../../outgoing/authenticator.ts';

/** Returns the fault of the `CredentialError` that a call throws or rejects with. */
export async function faultOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (error instanceof CredentialError) return error.fault;
    throw error;
  }
  throw new Error('it did not fail');
}

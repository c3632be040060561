import { CredentialError } from '../../../outgoing/authenticator.ts';

/** The fault of what a call throws or rejects with, which is a `CredentialError`. */
export async function faultOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (error instanceof CredentialError) return error.fault;
    throw error;
  }
  throw new Error('it did not fail');
}

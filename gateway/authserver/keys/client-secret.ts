import { KeyRefused } from '../../private-keys/private-key.ts';

const MIN_CHARS = 32;

/** Returns the client secret in a file of a delegate client, without white space around it. Throws `KeyRefused`. */
export function clientSecretOf(content: string): string {
  const secret = content.trim();
  if (secret.length >= MIN_CHARS) return secret;
  const message = `the client secret has ${String(secret.length)} characters: use at least ${String(MIN_CHARS)} random ones`;
  throw new KeyRefused(message);
}

const formEncoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

/** Returns the Basic header of a client: both parts form-encoded, joined by a colon, in base64. @see RFC 6749 §2.3.1 */
export const basicAuthorization = (clientId: string, secret: string): string =>
  `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(secret)}`).toString('base64')}`;
/** Returns an error code (RFC 6749 §4.1.2.1) without characters that must not be logged. */
export const errorCode = (text: unknown): string | undefined =>
  typeof text === 'string' && /^[\x21\x23-\x5B\x5D-\x7E]{1,64}$/u.test(text) ? text : undefined;

const MAX_DESCRIPTION = 200;

/** Long words are removed, since some providers repeat the rejected code or token. */
const LIKE_A_TOKEN = /[\w.~+/=-]{20,}/gu;

/**
 * Returns an error description of a provider as it may be logged: short, in ASCII, without long words and without
 * `secrets`, which the request contained.
 */
export function cleaned(text: string, secrets: readonly string[] = []): string {
  const shown = secrets
    .filter((secret) => secret !== '')
    .reduce((rest, secret) => rest.replaceAll(secret, '[cut]'), text);
  return shown
    .replaceAll(LIKE_A_TOKEN, '[cut]')
    .slice(0, MAX_DESCRIPTION)
    .replaceAll(/[^\x20-\x7E]/gu, '?');
}

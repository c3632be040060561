const formEncoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

/** Returns the Basic header of a client: both parts form-encoded, joined by a colon, in base64. @see RFC 6749 §2.3.1 */
export const basicAuthorization = (clientId: string, secret: string): string =>
  `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(secret)}`).toString('base64')}`;

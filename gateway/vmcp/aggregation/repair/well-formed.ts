const ESCAPE = Buffer.from(String.raw`\u`);

/** An escape in a JSON text: a pair of surrogates, a lone surrogate, or another escape. */
const ESCAPES = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|[^])/gu;

/**
 * Returns a JSON text whose lone surrogates are replacement characters; the same bytes if it has none. Servers cut texts in the
 * middle of an emoji, and clients in Python and Rust reject the whole message then. @see RFC 8259 §8.2
 */
export function wellFormed(json: Buffer): Buffer {
  if (!json.includes(ESCAPE)) return json;
  const given = json.toString('latin1');
  const text = given.replaceAll(ESCAPES, (escape, lone: string | undefined) =>
    lone === undefined ? escape : String.raw`\ufffd`,
  );
  return text === given ? json : Buffer.from(text, 'latin1');
}

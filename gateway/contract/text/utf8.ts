const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Decodes a text, which keeps its byte order mark; returns undefined for bytes that are not UTF-8. A replacement
 * character in their place would change the meaning of a document without a word.
 */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

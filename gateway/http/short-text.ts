/**
 * Longest text that is read as characters, in bytes: a search of characters costs less than one of bytes, and Node.js
 * writes characters together with the head of a response. A copy of a longer text costs more than it saves.
 */
export const SHORT = 4_096;

let last: Buffer | undefined;
let lastText = '';

/** Returns the bytes as text, each as one character; undefined for a long text. Those who read one reply share the copy. */
export function shortText(bytes: Buffer): string | undefined {
  if (bytes.length > SHORT) return undefined;
  if (bytes !== last) {
    lastText = bytes.toString('latin1');
    last = bytes;
  }
  return lastText;
}

import type { Captured } from './event.ts';
import { redactJson } from './redact-json.ts';

/** Returns valid JSON text without secrets for a line. A longer text than `maxBytes` is cut and becomes a string. */
export function capture(json: Buffer, maxBytes: number): Captured {
  if (json.length <= maxBytes) return { json: redactJson(json.toString('utf8')), truncated: false };
  return {
    json: JSON.stringify(redactJson(json.toString('utf8', 0, characterStart(json, maxBytes)))),
    truncated: true,
  };
}

/** Returns the start of the UTF-8 character that contains the byte at `at`. */
function characterStart(text: Buffer, at: number): number {
  let start = at;
  while (start > 0 && ((text[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}

const SECRET_KEY =
  /authorization|cookie|token|secret|password|api[-_]?key|^code$|verifier|nonce|csrf|assertion|^state$|^tsid$/i;

const CUT = '[redacted]';
/** Parameters of queries and forms, and members of JSON, whose values are secrets. */
const NAMES =
  'code|state|nonce|csrf|password|assertion|client_assertion|client_secret|code_verifier|(?:[a-z]+_)*token(?:_hint)?';

/**
 * Secrets inside a text, by their shape or by the name in front of them. The first group stays.
 * A pattern consumes what it has begun to read even when the rest does not fit, so that hostile text costs linear time;
 * the end of the text ends a secret too, because long texts are truncated.
 */
const SECRET_TEXTS: readonly RegExp[] = [
  /()\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}/gi,
  /()\beyJ[\w.-]{8,}/g, // JWS and JWE
  /()\bv(?:ac|rt|ck|cs|ra)_[\w-]{16,}(?:\.[\w-]*)?/g, // issued by the authorization server
  /(\b(?:__Host-)?vmcp-[\w-]+=?)(?:(?<==)[^;,\s"']+)?/g, // cookies of its pages
  /(\b(?:set-)?cookie["']?\s*:)[^\r\n]+/gi,
  new RegExp(`(\\b(?:${NAMES})=)[^&;\\s"'<>]+`, 'gi'),
  new RegExp(`("(?:${NAMES})"\\s*:\\s*)"[^"]*(?:"|$)`, 'gi'),
];
/** Every secret contains one of these: most texts do not, and skip the other patterns. */
const SUSPICIOUS = /=|cookie|"\s*:|eyJ|v(?:ac|rt|ck|cs|ra)_|bearer|basic/i;
const MAX_DEPTH = 6;
/** Characters of one value that reach the log. */
const MAX_LENGTH = 4_096;

const truncate = (text: string): string =>
  text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}… (${text.length} characters)` : text;

/** Replaces every secret in a text. */
export const redactText = (text: string): string =>
  SUSPICIOUS.test(text)
    ? SECRET_TEXTS.reduce(
        (rest, shape) => rest.replace(shape, (match, kept: string) => (match === kept ? match : `${kept}${CUT}`)),
        text,
      )
    : text;

/** Returns a copy without secrets: neither under a secret's name nor inside a text. Long texts are truncated. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(truncate(value));
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) return CUT;
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactMember(key, item, depth + 1)]));
}

/** Redacts one member of an object at `depth`. */
export const redactMember = (key: string, value: unknown, depth = 0): unknown =>
  SECRET_KEY.test(key) ? CUT : redact(value, depth);

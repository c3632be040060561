import { isSecretName, isSecretParameter, mayHaveSecretName, REDACTED, redactMembers } from './secret-members.ts';

/** Beginnings of keys of well-known services. */
const KNOWN_KEY = 'gh[opusr]_|github_pat_|glpat-|xox[abeoprs]-|npm_|pypi-|hf_|sk-|[rs]k_live_|AIza|ya29\\.';
/**
 * Secrets inside a text, by their shape. The first group stays. A pattern consumes what it has begun to read even when the rest
 * does not fit, so that hostile text costs linear time; the end of the text ends a secret too, because long texts are truncated.
 */
const SECRET_TEXTS: readonly RegExp[] = [
  /()-----BEGIN [A-Z\d ]{0,40}PRIVATE KEY[\s\S]*?(?:-----END [^-]{0,64}-----|$)/g,
  /(\b[a-z][\w+.-]{0,31}:\/\/)(?!git@)[^\s/?#"'<>\\]*(?=@)/gi, // user and password of a URL
  /(\b[a-z][\w+.-]{0,31}:\/\/)[^\s/?#"'<>\\@:]{1,256}:(?!\d{1,5}[/?#])[^\s"'<>@]{1,256}(?=@)/gi, // with a slash in the password
  /()\bBearer\s+(?!(?:tokens?|auth|authentication|authorization|scheme|realm|error)\b)[\w.~+/=-]+/gi,
  /()\bBasic\s+(?:[\w.~+/=-]{8,}|(?=[a-z]{0,7}[\d~+/=_-])[\w.~+/=-]+)/gi,
  /()\beyJ[\w.-]{8,}/g, // JWS and JWE, and JSON in base64
  /()\bv(?:ac|rt|ck|cs|ra)_[\w-]{16,}(?:\.[\w-]*)?/g, // issued by the authorization server
  new RegExp(`()\\b(?:${KNOWN_KEY})[\\w-]{12,}`, 'g'),
  /(\b(?:__Host-)?vmcp-[\w-]+=?)(?:(?<==)[^;,\s"']+)?/g, // cookies of its pages
  /(\b(?:set-)?cookie["']?\s*:)[^\r\n]+/gi,
];
/** Secrets behind a name: an option of a command line and an element of XML. The first group stays, the second is the name. */
const NAMED_TEXTS: readonly RegExp[] = [
  /((?<![\w-])--?([a-z][\w.-]*)[ \t]+)(?![-\s])(?:"[^"]*"?|'[^']*'?|[^\s"']+)/gi,
  /(<([\w:.-]{1,64})(?:\s[^<>]*)?>)[^<]+/g,
];
/** Every secret with a shape contains one of these: most texts do not, and skip the patterns. */
const HAS_SHAPE = new RegExp(`@|eyJ|v(?:ac|rt|ck|cs|ra)_|vmcp-|bearer|basic|cookie|PRIVATE KEY|${KNOWN_KEY}`, 'i');
/** Start of a secret at the end of a text that was cut, too short for its shape. */
const CUT_SECRET = new RegExp(
  [
    String.raw`\b(?:bearer|basic)\s{1,8}[^\s"]{0,8}$`,
    String.raw`\beyJ[\w.-]{0,8}$`,
    String.raw`\bv(?:ac|rt|ck|cs|ra)_[\w.-]{0,16}$`,
    String.raw`\b(?:${KNOWN_KEY})[\w-]{0,12}$`,
    String.raw`(?<=:\/\/)[^\s/?#"'<>@]*$`,
  ].join('|'),
  'i',
);
const MAX_DEPTH = 6;
/** Characters of one value that reach the log. */
const MAX_LENGTH = 4_096;

const truncate = (text: string): string =>
  text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}… (${text.length} characters)` : text;

/** Replaces every secret in a text of the log. */
export const redactText = (text: string): string => redactAll(text, true);

/** Replaces every secret in a text of a user, which can be a file: also values of lines such as `password: x`. */
export const redactContent = (text: string): string => redactAll(text, false);

/** Replaces the start of a secret at the end of a text that was cut. */
export const redactCut = (text: string): string => text.replace(CUT_SECRET, REDACTED);

function redactAll(text: string, isSentence: boolean): string {
  let rest = text;
  if (HAS_SHAPE.test(text)) {
    for (const shape of SECRET_TEXTS)
      rest = rest.replace(shape, (match, kept: string) => (match === kept ? match : `${kept}${REDACTED}`));
  }
  if (!mayHaveSecretName(rest)) return rest;
  for (const shape of NAMED_TEXTS)
    rest = rest.replace(shape, (match, kept: string, name: string) =>
      isSecretName(name) ? `${kept}${REDACTED}` : match,
    );
  return redactMembers(rest, isSentence);
}

/** Returns a copy without secrets: neither under a secret's name nor inside a text. Long texts are truncated. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(truncate(value));
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) return REDACTED;
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactMember(key, item, depth + 1)]));
}

/** Redacts one member of an object at `depth`. */
export const redactMember = (key: string, value: unknown, depth = 0): unknown =>
  isSecretParameter(key) ? REDACTED : redact(value, depth);

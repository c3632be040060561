import type { Writable } from 'node:stream';
import { createLogger as winstonLogger, format, transports, type Logger } from 'winston';

const SECRET_KEY =
  /authorization|cookie|token|secret|password|api[-_]?key|^code$|verifier|nonce|csrf|assertion|^state$|^tsid$/i;

const CUT = '[redacted]';
/** Parameters of queries and forms, and members of JSON, whose values are secrets. */
const NAMES =
  'code|state|nonce|csrf|password|assertion|client_assertion|client_secret|code_verifier|(?:[a-z]+_)*token(?:_hint)?';

/** Secrets inside of a text, by their shape or by the name in front of them. The first group stays. */
const SECRET_TEXTS: readonly RegExp[] = [
  /()\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}/gi,
  /()\beyJ[\w-]{8,}(?:\.[\w-]*){2,4}/g, // JWS and JWE
  /()\bv(?:ac|rt|ck|cs|ra)_[\w-]{16,}(?:\.[\w-]*)?/g, // what the authorization server gives out
  /(\b(?:__Host-)?vmcp-[\w-]+=)[^;,\s"']+/g, // cookies of its pages
  /(\b(?:set-)?cookie["']?\s*:\s*)[^\r\n]+/gi,
  new RegExp(`(\\b(?:${NAMES})=)[^&;\\s"'<>]+`, 'gi'),
  new RegExp(`("(?:${NAMES})"\\s*:\\s*)"[^"]*"`, 'gi'),
];
/** What every one of them has in it: most texts have nothing of the kind, and are not looked at closer. */
const SUSPICIOUS = /=|cookie|"\s*:|eyJ|v(?:ac|rt|ck|cs|ra)_|bearer|basic/i;
const MAX_DEPTH = 6;

const cut = (text: string): string => SECRET_TEXTS.reduce((rest, shape) => rest.replace(shape, `$1${CUT}`), text);

/** A copy in which every value under a secret's name, and every secret inside of a text, is cut out. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return SUSPICIOUS.test(value) ? cut(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) return CUT;
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) copy[key] = SECRET_KEY.test(key) ? CUT : redact(item, depth + 1);
  return copy;
}

const redacted = format((info) => {
  for (const key of Object.keys(info)) {
    if (key !== 'level' && key !== 'timestamp') info[key] = SECRET_KEY.test(key) ? CUT : redact(info[key]);
  }
  return info;
});

/** What the log says of something that was thrown and should not have been. */
export const stackOf = (thrown: unknown): string =>
  thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);

/** JSON lines: a constant message, facts as fields, no secret in either. */
export function createLog(stream: Writable, level: 'debug' | 'info' | 'warn' | 'error'): Logger {
  return winstonLogger({
    level,
    format: format.combine(format.timestamp(), redacted(), format.json()),
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- winston-transport's own typing
    transports: [new transports.Stream({ stream })],
  });
}

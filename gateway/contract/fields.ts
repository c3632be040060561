import { Type, type TSchema } from 'typebox';

/** A duration as Go writes it: `1h30m`, `500ms`. Parse it with `durationMs`. */
export const DURATION_PATTERN = '^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$';

/** RFC 1123 label. */
export const DNS_LABEL_PATTERN = '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$';

export const HTTP_URL_PATTERN = '^https?://[^\\s]+$';

/** A URL that is compared, and to which paths are appended: no query, no fragment, no slash at its end. */
export const BASE_URL_PATTERN = '^https?://[^\\s?#]+[^/\\s?#]$';

/** A host name, or `*.` and a domain. */
export const HOST_PATTERN = '^([*][.])?[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?$';

/** `HOST_PATTERN` or an address in brackets, and a port or none. */
export const HOST_AND_PORT_PATTERN =
  '^(([*][.])?[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?|\\[[0-9a-fA-F:.]+\\])(:[0-9]{1,5})?$';

/** A variable of a shell or of a `.env` file. */
export const HOST_VARIABLE_PATTERN = '^[A-Za-z_][A-Za-z0-9_]*$';

/** A quantity of Kubernetes that is not negative: `500m`, `2`, `1.5Gi`, `1e3`. In YAML it may be a number. */
export const QUANTITY_PATTERN =
  '^[+]?([0-9]+([.][0-9]*)?|[.][0-9]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?(1[0-8]|[0-9]))?$';

/** RFC 6749 §3.3 */
export const SCOPE_PATTERN = '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$';

export const Duration = (description: string, options: object = {}) =>
  Type.String({ pattern: DURATION_PATTERN, description, ...options });

export const DnsLabel = (description: string) =>
  Type.String({ pattern: DNS_LABEL_PATTERN, minLength: 1, maxLength: 63, description });

export const HttpUrl = (description: string, options: object = {}) =>
  Type.String({ pattern: HTTP_URL_PATTERN, description, ...options });

/** An object that rejects unknown members. */
export const Closed = <P extends Record<string, TSchema>>(properties: P, options: object = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options });

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of a duration string; throws a RangeError on text that `DURATION_PATTERN` refuses. */
export function durationMs(text: string): number {
  if (!new RegExp(DURATION_PATTERN, 'u').test(text))
    throw new RangeError(`"${text}" is not a duration such as 30s or 1h30m`);
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(?<![0-9.])([0-9.]+)(ns|us|µs|ms|s|m|h)/gu)) {
    total += Number(amount) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
  }
  return total;
}

/** The longest time that a timer can hold. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Returns the reason why a duration does not fit a timer; undefined when it fits. */
export function timerFault(text: string): string | undefined {
  const ms = durationMs(text);
  if (ms < 1) return `${text} is no time at all: use at least 1ms`;
  return ms <= MAX_TIMER_MS ? undefined : `${text} is longer than a timer can hold: use at most 596h`;
}

import type { Problem } from './problem.ts';
import { HEADER_NAME_PATTERN, isRestricted, RESTRICTED_MESSAGE } from './rule.ts';

/**
 * Headers that the gateway writes itself on every backend request, so that setting or copying them breaks the protocol.
 * Those of the connection and of the caller's credentials are refused by the kinds' own rules.
 */
const PROTOCOL_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'content-encoding',
  'content-type',
  'expect',
  'last-event-id',
]);

export const isProtocolHeader = (name: string): boolean => PROTOCOL_HEADERS.has(name.toLowerCase());

/** A host with or without a port. @see RFC 9110 §7.2 */
export const HOST_PATTERN = '^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)(:[0-9]{1,5})?$';

/** RFC 9110 §5.5: visible characters, spaces and tabs, without space at the ends. */
export const isHeaderValue = (value: string): boolean =>
  /^(?!\s)[\t\x20-\x7E\x80-\xFF]*$/u.test(value) && !/\s$/u.test(value);

/** Lists problems of a header name. `allowed` lifts the restriction of names. */
export function headerNameProblems(name: string, path: string, allowed: readonly string[] = []): Problem[] {
  if (!new RegExp(HEADER_NAME_PATTERN).test(name)) {
    return [{ reason: 'InvalidValue', path, message: `"${name}" is not the name of a header: correct it` }];
  }
  if (isProtocolHeader(name)) {
    return [{ reason: 'RestrictedHeader', path, message: `"${name}" is set by the protocol itself: remove it` }];
  }
  if (!isRestricted(name, allowed)) return [];
  return [{ reason: 'RestrictedHeader', path, message: `${RESTRICTED_MESSAGE}: remove "${name}"` }];
}

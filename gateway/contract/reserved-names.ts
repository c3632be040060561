import type { Problem } from './problem.ts';
import { HEADER_NAME_PATTERN, isRestricted, RESTRICTED_MESSAGE, rule, type Rule } from './rule.ts';

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

const MAX_PARAMETERS = 16;
const MAX_LENGTH = 2048;

/** Rejects parameters in a map of a resource that the gateway sets itself. */
export const reservedRule = (member: string, reserved: readonly string[]): Rule =>
  rule<Record<string, string>>(member, {
    rule: `!self.exists(p, p in [${reserved.map((name) => `'${name}'`).join(', ')}])`,
    message: `the gateway sets these itself: remove ${reserved.join(', ')}`,
    check: (self) => !Object.keys(self).some((name) => reserved.includes(name)),
  });

type Parameters = Readonly<Record<string, string>>;

/** Lists the problems of additional parameters at a path of a configuration. */
export function reservedProblems(at: string, reserved: readonly string[], parameters: Parameters = {}): Problem[] {
  const problem = (path: string, message: string): Problem => ({ reason: 'InvalidValue', path, message });
  const names = Object.keys(parameters);
  return [
    ...(names.length > MAX_PARAMETERS ? [problem(at, `set at most ${String(MAX_PARAMETERS)} parameters`)] : []),
    ...names
      .filter((name) => reserved.includes(name))
      .map((name) => problem(`${at}.${name}`, 'the gateway sets this parameter itself: remove it')),
    ...names
      .filter((name) => name === '' || name.length + (parameters[name] ?? '').length > MAX_LENGTH)
      .map((name) =>
        problem(`${at}.${name}`, `a parameter must have a name, and at most ${String(MAX_LENGTH)} characters`),
      ),
  ];
}

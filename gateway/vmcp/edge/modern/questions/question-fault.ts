import { readString } from '../../../../http/json-scan.ts';
import { isObjectSpan, memberOf } from '../../../../http/json-walk.ts';
import { capabilityFor, missingFor, type Capabilities } from '../../../server-requests.ts';
import type { Session } from '../../../session.ts';
import { readInputRequired } from '../../../transport/modern/result-text.ts';

/**
 * Returns the reason why a client must not receive an `input_required` result of a backend: the capabilities that it has
 * not declared, or `invalid` for a result that is not MCP. @see MCP 2026-07-28, basic/patterns/mrtr, Server Requirements
 */
export function questionFault(
  message: Buffer,
  client: Pick<Session, 'offers' | 'capabilities'>,
): 'invalid' | Capabilities | undefined {
  const needed = readInputRequired(message);
  if (!needed || (needed.requests.size === 0 && needed.state === undefined)) return 'invalid';
  let missing: Capabilities | undefined;
  for (const request of needed.requests.values()) {
    const text = Buffer.from(request);
    const whole = { start: 0, end: text.length };
    const method = isObjectSpan(text, whole) ? readString(text, memberOf(text, whole, 'method')) : undefined;
    if (method === undefined || capabilityFor(method) === undefined) return 'invalid';
    const own = missingFor(method, text, memberOf(text, whole, 'params'), client);
    if (own) missing = merged(missing, own);
  }
  return missing;
}

const merged = (some: Capabilities = {}, others: Capabilities): Capabilities => ({
  ...some,
  ...Object.fromEntries(Object.entries(others).map(([name, features]) => [name, { ...some[name], ...features }])),
});

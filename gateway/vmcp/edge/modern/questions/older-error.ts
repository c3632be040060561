import { methodOf } from '../../../../contract/protocol/methods.ts';
import { isObject, parseObject } from '../../../../contract/json.ts';
import type { Span } from '../../../../http/json-walk.ts';
import { missingFor, type Capabilities } from '../../../server-requests.ts';
import type { Session } from '../../../session.ts';

/** Reply that takes the place of an error which this revision does not have. */
export type Replacement =
  | { readonly kind: 'result'; readonly text: string }
  | { readonly kind: 'missing'; readonly capabilities: Capabilities }
  | { readonly kind: 'error'; readonly message: string; readonly data: unknown };

/**
 * Returns what takes the place of the error -32042 of 2025-11-25, by which a backend asks the user to open URLs first: a
 * result that asks for it. The client then repeats its request. @see MCP 2025-11-25, client/elicitation, URL Elicitation Required Error
 */
export function withoutUrlError(
  message: Buffer,
  error: Span,
  method: string,
  client: Pick<Session, 'offers' | 'capabilities'>,
): Replacement {
  const { message: text, data } = parseObject(message.toString('utf8', error.start, error.end)) ?? {};
  const listed: unknown = isObject(data) ? data['elicitations'] : undefined;
  const pages = Array.isArray(listed) ? listed.filter(isPage) : [];
  if (pages.length === 0 || !methodOf(method).asksForInput)
    return { kind: 'error', message: typeof text === 'string' ? text : 'the backend needs a URL to be opened', data };
  const questions = pages.map(({ message: reason, url }, index) => [
    `url-${String(index + 1)}`,
    { method: 'elicitation/create', params: { mode: 'url', message: reason, url } },
  ]);
  const inputRequests: unknown = Object.fromEntries(questions);
  const missing = missingFor('elicitation/create', PAGE, { start: 0, end: PAGE.length }, client);
  if (missing) return { kind: 'missing', capabilities: missing };
  return { kind: 'result', text: JSON.stringify({ resultType: 'input_required', inputRequests }) };
}

const PAGE = Buffer.from('{"mode":"url"}');

const isPage = (item: unknown): item is { readonly message: string; readonly url: string } =>
  isObject(item) && typeof item['message'] === 'string' && typeof item['url'] === 'string';

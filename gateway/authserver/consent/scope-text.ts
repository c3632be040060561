import type { ConsentScope } from './consent-page.ts';

/** Descriptions of standard scopes. @see OpenID Connect Core 1.0 §5.4, §11 */
const STANDARD: ReadonlyMap<string, string> = new Map([
  ['openid', 'know that it is you when you come back'],
  ['profile', 'see your name'],
  ['email', 'see your e-mail address'],
  ['offline_access', 'go on while you are away, until you or the operator end it'],
]);

/** Describes scopes as continuations of “It may …”. Descriptions of the operator take precedence; some scopes have none. */
export const describeScopes = (
  scopes: readonly string[],
  ofOperator: ReadonlyMap<string, string> = new Map(),
): readonly ConsentScope[] => scopes.map((name) => ({ name, text: ofOperator.get(name) ?? STANDARD.get(name) }));

import { wireError, type RefusalReason } from './refusal.ts';

export interface AnswerTo {
  readonly redirectUri: string;
  readonly state: string | undefined;
  /** Sent in every response, so that clients of several servers can identify it. @see RFC 9207 §2 */
  readonly issuer: string;
}

/** Returns the redirect URL with a code. @see RFC 6749 §4.1.2 */
export const codeResponseUrl = (code: string, answerTo: AnswerTo): string => responseUrl([['code', code]], answerTo);

/** Returns the redirect URL with an error. @see RFC 6749 §4.1.2.1 */
export function errorResponseUrl(reason: RefusalReason, answerTo: AnswerTo): string {
  const { error, description } = wireError(reason);
  return responseUrl(
    [
      ['error', error],
      ['error_description', description],
    ],
    answerTo,
  );
}

function responseUrl(members: [string, string][], { redirectUri, state, issuer }: AnswerTo): string {
  const parameters = new URLSearchParams(members);
  if (state !== undefined) parameters.set('state', state);
  parameters.set('iss', issuer);
  return withParameters(redirectUri, parameters);
}

/** Appends parameters to the redirect URI without changing its spelling. */
function withParameters(redirectUri: string, parameters: URLSearchParams): string {
  const joint = !redirectUri.includes('?') ? '?' : /[?&]$/.test(redirectUri) ? '' : '&';
  return `${redirectUri}${joint}${parameters.toString()}`;
}

/** Returns the redirect URL after a logout. @see OpenID Connect RP-Initiated Logout §3 */
export const logoutResponseUrl = (redirectUri: string, state: string | undefined): string =>
  state === undefined ? redirectUri : withParameters(redirectUri, new URLSearchParams({ state }));

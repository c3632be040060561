import { wireError, type RefusalReason } from './refusal.ts';

export interface AnswerTo {
  readonly redirectUri: string;
  readonly state: string | undefined;
  /** Goes into every answer, so that a client of several servers knows whose it is. @see RFC 9207 §2 */
  readonly issuer: string;
}

/** URL that carries a code back to the client. @see RFC 6749 §4.1.2 */
export const codeResponseUrl = (code: string, answerTo: AnswerTo): string => responseUrl([['code', code]], answerTo);

/** URL that carries a refusal back to the client. @see RFC 6749 §4.1.2.1 */
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

/** Parameters are put behind the redirect URI, whose own spelling stays as it is. */
function withParameters(redirectUri: string, parameters: URLSearchParams): string {
  const joint = !redirectUri.includes('?') ? '?' : /[?&]$/.test(redirectUri) ? '' : '&';
  return `${redirectUri}${joint}${parameters.toString()}`;
}

/** URL to which a browser goes after a logout. @see OpenID Connect RP-Initiated Logout §3 */
export const logoutResponseUrl = (redirectUri: string, state: string | undefined): string =>
  state === undefined ? redirectUri : withParameters(redirectUri, new URLSearchParams({ state }));

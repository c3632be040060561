import type { AssertionParameters } from '../../private-keys/client-assertion.ts';
import type { UnlimitedPost } from '../post-with-retry.ts';
import { requestedTokenType, subjectTokenType, urnOf, type TokenExchangeConfig } from './config.ts';

/** Parameters for target and scope of the token. */
function targetOf({ audience = '', resource, scopes = [] }: TokenExchangeConfig): Readonly<Record<string, string>> {
  return {
    ...(audience !== '' && { audience }),
    ...(resource !== undefined && { resource }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  };
}

/** Returns true when the configuration adds nothing that an endpoint could reject. */
export const asksForNothingSpecial = (settings: TokenExchangeConfig): boolean =>
  Object.keys({ ...targetOf(settings), ...settings.additional_params }).length === 0 &&
  requestedTokenType(settings) === 'access_token' &&
  subjectTokenType(settings) === 'access_token';

/** Authentication of the client: by a secret, by an assertion, or by its identifier alone. */
export interface ClientCredential {
  readonly secret?: string | undefined;
  readonly assertion?: AssertionParameters | undefined;
}

/** RFC 8693 §2.1; the client authenticates by RFC 6749 §2.3.1 with a secret, and by RFC 7523 §2.2 with an assertion. */
export function exchangeRequest(
  subjectToken: string,
  { secret, assertion }: ClientCredential,
  settings: TokenExchangeConfig,
): UnlimitedPost {
  const { client_id: id, token_endpoint_auth_method: method } = settings;
  const usesBasic = secret !== undefined && method !== 'client_secret_post';
  return {
    url: settings.token_url,
    form: {
      ...settings.additional_params,
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subjectToken,
      subject_token_type: urnOf(subjectTokenType(settings)),
      requested_token_type: urnOf(requestedTokenType(settings)),
      ...targetOf(settings),
      ...(id !== undefined && !usesBasic && { client_id: id }),
      ...(secret !== undefined && !usesBasic && { client_secret: secret }),
      ...assertion,
    },
    headers: {
      accept: 'application/json',
      ...(id !== undefined && usesBasic && { authorization: basicAuthorization(id, secret) }),
    },
    allowPrivateIPs: settings.allow_private_ips === true,
    insecureAllowHTTP: settings.insecure_allow_http === true,
  };
}

/** Encodes client credentials by RFC 6749 §2.3.1: each part form-encoded, joined, then base64. */
function basicAuthorization(clientId: string, clientSecret: string): string {
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

const formEncoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

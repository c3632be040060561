import { ClientAssertion, type AssertionParameters } from '../../private-keys/client-assertion.ts';
import { basicAuthorization } from '../../contract/text/provider-text.ts';
import type { UnlimitedPost } from '../post-with-retry.ts';
import { requestedTokenType, subjectTokenType, urnOf, type TokenExchangeConfig } from './config.ts';
import { CredentialError, type StrategyDeps } from '../authenticator.ts';
import { readCredentialFile } from '../credential-header.ts';

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
interface ClientCredential {
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

/** Client of the token endpoint. */
export class ExchangeClient {
  readonly #settings: TokenExchangeConfig;
  readonly #deps: StrategyDeps;
  readonly #assertion: ClientAssertion | undefined;

  constructor(settings: TokenExchangeConfig, deps: StrategyDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#assertion = settings.private_key_jwt && new ClientAssertion(settings.private_key_jwt, deps);
  }

  /** Returns the current client secret or private key; undefined when it has neither. Throws `CredentialError`. */
  secret(): string | undefined {
    const { client_secret_file, private_key_jwt: key } = this.#settings;
    const file = client_secret_file ?? key?.private_key_file;
    const secret = file === undefined ? undefined : readCredentialFile(this.#deps, file);
    if (secret === '') throw new CredentialError('misconfigured', `the file ${String(file)} is empty`);
    return secret;
  }

  /** Returns the credential for the next request. Rejects with `CredentialError`. */
  async credential(secret: string | undefined): Promise<ClientCredential> {
    if (!this.#assertion) return { secret };
    const { client_id: clientId = '', token_url: audience } = this.#settings;
    try {
      return { assertion: await this.#assertion.parameters({ clientId, audience }) };
    } catch (error) {
      const cause = error instanceof Error ? error.message : 'it cannot be read';
      throw new CredentialError('misconfigured', `the private key is unusable: ${cause}`);
    }
  }
}

import type { ClientAuth, ServerMetadata } from 'openid-client';
import type { AssertionParameters, AssertionRequest } from '../../../private-keys/client-assertion.ts';
import { basicAuthorization } from '../../../contract/text/provider-text.ts';
import { UpstreamError } from '../upstream-error.ts';

/** Returns the current client secret; undefined for a public client. Throws `UpstreamError`. */
export type ClientSecret = () => string | undefined;

/** Returns parameters that authenticate a request with a private key. Rejects with `UpstreamError`. */
export type SignedClient = (request: Pick<AssertionRequest, 'clientId' | 'supported'>) => Promise<AssertionParameters>;

/** Error codes for a rejected client secret, of RFC 6749 §5.2, GitHub and Slack. */
export const CREDENTIAL_ERRORS: ReadonlySet<string> = new Set([
  'invalid_client',
  'incorrect_client_credentials',
  'bad_client_secret',
  'invalid_client_id',
]);

/** Authentication of the gateway at a provider. Reads the secret or the private key for every request. */
export class ClientAuthentication {
  readonly #secret: ClientSecret;
  readonly #signed: SignedClient | undefined;
  /** Method for a provider that does not state what it supports. */
  #guess: 'client_secret_basic' | 'client_secret_post' = 'client_secret_basic';
  /** The provider has accepted the guess. */
  #isProven = false;

  /** @param signed replaces the secret. */
  constructor(secret: ClientSecret, signed?: SignedClient) {
    this.#secret = secret;
    this.#signed = signed;
  }

  /**
   * Returns the client authentication of the next request: an assertion with a private key, else Basic if supported (RFC 6749 §2.3.1
   * requires it), none without a secret. Rejects with `UpstreamError`.
   */
  async authFor(clientId: string, metadata: ServerMetadata): Promise<ClientAuth> {
    const { token_endpoint_auth_methods_supported: methods } = metadata;
    if (!this.#signed) return this.#authBySecret(methods);
    const { token_endpoint_auth_signing_alg_values_supported: supported } = metadata;
    const signed = await this.#signed({ clientId, supported });
    return (_server, _client, body) => {
      body.set('client_id', signed.client_id);
      body.set('client_assertion_type', signed.client_assertion_type);
      body.set('client_assertion', signed.client_assertion);
    };
  }

  #authBySecret(supported: readonly string[] | undefined): ClientAuth {
    const secret = this.#secret();
    if (secret === undefined) {
      return (_server, { client_id }, body) => {
        body.set('client_id', client_id);
      };
    }
    const methods = supported ?? [this.#guess];
    if (methods.includes('client_secret_basic')) {
      return (_server, { client_id }, _body, headers) => {
        headers.set('authorization', basicAuthorization(client_id, secret));
      };
    }
    if (methods.includes('client_secret_post')) {
      return (_server, { client_id }, body) => {
        body.set('client_id', client_id);
        body.set('client_secret', secret);
      };
    }
    const message = 'the provider supports neither client_secret_basic nor client_secret_post';
    throw new UpstreamError('misconfigured', message);
  }

  /**
   * Runs an operation at a provider that does not state its methods. Repeats it with the secret in the form if the provider
   * rejects Basic, or rejects the first request without a clear reason, and remembers the method that worked.
   */
  async withFallback<T>(operation: () => Promise<T>): Promise<T> {
    const first = this.#guess;
    try {
      return await this.#proving(operation);
    } catch (error) {
      const refused = isRefused(error) || (!this.#isProven && isVague(error));
      if (!refused || first === 'client_secret_post' || this.#secret() === undefined) throw error;
      return this.#withForm(operation);
    }
  }

  async #withForm<T>(operation: () => Promise<T>): Promise<T> {
    this.#guess = 'client_secret_post';
    try {
      return await this.#proving(operation);
    } catch (error) {
      if (isRefused(error) || isVague(error)) this.#guess = 'client_secret_basic';
      throw error;
    }
  }

  async #proving<T>(operation: () => Promise<T>): Promise<T> {
    const result = await operation();
    this.#isProven = true;
    return result;
  }
}

const isRefused = (error: unknown): boolean =>
  error instanceof UpstreamError && CREDENTIAL_ERRORS.has(error.providerError ?? '');

/** Returns true for a rejection that may concern the client or anything else in the request. */
const isVague = (error: unknown): boolean =>
  error instanceof UpstreamError &&
  (error.status === 400 || error.status === 401) &&
  (error.providerError ?? 'invalid_request') === 'invalid_request';

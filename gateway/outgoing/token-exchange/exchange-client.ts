import { ClientAssertion } from '../../private-keys/client-assertion.ts';
import { CredentialError, type StrategyDeps } from '../authenticator.ts';
import { readSecretFile } from '../credential-header.ts';
import type { TokenExchangeConfig } from './config.ts';
import type { ClientCredential } from './request.ts';

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
    const secret = file === undefined ? undefined : readSecretFile(this.#deps, file);
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

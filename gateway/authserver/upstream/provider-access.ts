import type { ServerMetadata } from 'openid-client';
import type { ProviderConfig } from '../../contract/run-config/upstreams.ts';
import { createCodeClient, type CodeClientFacts } from './config/provider-config.ts';
import type { CodeClient } from './protocol/code-client.ts';
import type { Provider } from './protocol/guards.ts';
import type { ClientRecord } from './registration/register.ts';
import {
  createRegisteredClient,
  type RegisteredClient,
  type RegistrationPlace,
} from './registration/registered-client.ts';
import type { UpstreamDeps } from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';

interface Access {
  readonly client: CodeClient;
  readonly provider: Provider;
}

/** Access of the gateway to a provider: as a configured or as a registered client. */
export interface ProviderAccess {
  readonly clientId: string;
  isClient(clientId: string): Promise<boolean>;
  /** Runs an operation as the client. Rejects with `UpstreamError`. */
  use<T>(operation: (access: Access) => Promise<T>): Promise<T>;
}

interface AccessOptions extends Omit<CodeClientFacts, 'redirectUri'> {
  /** Redirect URIs that the gateway may use, the default first. */
  readonly redirectUris: readonly string[];
  /** Returns the current metadata and the guard. Rejects with `UpstreamError`. */
  readonly provider: () => Promise<Provider>;
  /** Used with `dcr_config` only. */
  readonly registration: RegistrationPlace;
}

export function openAccess(settings: ProviderConfig, deps: UpstreamDeps, options: AccessOptions): ProviderAccess {
  const { redirectUris, provider, registration, rules, audience } = options;
  const { dcr_config: dcr, client_id: clientId = '' } = settings;
  const facts = { rules, audience, redirectUri: redirectUris[0] ?? '' };
  if (!dcr) {
    const client = createCodeClient(settings, deps, facts);
    return {
      clientId,
      isClient: (id) => Promise.resolve(id === clientId),
      use: async (operation) => operation({ client, provider: await provider() }),
    };
  }
  const clientFor = (record: ClientRecord): CodeClient =>
    createCodeClient({ ...settings, client_id: record.client_id }, deps, facts, () => record.client_secret);
  return new RegisteredAccess(createRegisteredClient(dcr, deps, redirectUris, registration), provider, clientFor);
}

class RegisteredAccess implements ProviderAccess {
  readonly #registered: RegisteredClient;
  readonly #provider: () => Promise<Provider>;
  readonly #clientFor: (record: ClientRecord) => CodeClient;
  #opened: { readonly record: ClientRecord; readonly metadata: ServerMetadata; readonly access: Access } | undefined;

  constructor(
    registered: RegisteredClient,
    provider: () => Promise<Provider>,
    clientFor: (record: ClientRecord) => CodeClient,
  ) {
    this.#registered = registered;
    this.#provider = provider;
    this.#clientFor = clientFor;
  }

  get clientId(): string {
    return this.#registered.clientId;
  }

  isClient(clientId: string): Promise<boolean> {
    return this.#registered.isCurrent(clientId);
  }

  async use<T>(operation: (access: Access) => Promise<T>): Promise<T> {
    const provider = await this.#provider();
    const record = await this.#registered.current();
    try {
      return await operation(this.#open(record, provider));
    } catch (error) {
      if (error instanceof UpstreamError && error.providerError === 'invalid_client')
        await this.#registered.distrust(record.client_id);
      throw error;
    }
  }

  /** Returns the access of a registration, whose method of authentication replaces those that the metadata list. */
  #open(record: ClientRecord, { metadata, outbound }: Provider): Access {
    if (this.#opened?.record === record && this.#opened.metadata === metadata) return this.#opened.access;
    const own = { ...metadata, token_endpoint_auth_methods_supported: [record.auth_method] };
    const access = { client: this.#clientFor(record), provider: { metadata: own, outbound } };
    this.#opened = { record, metadata, access };
    return access;
  }
}

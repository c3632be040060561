import type { OAuth2ProviderConfig } from '../../contract/run-config/upstreams.ts';
import { codeClientOf, redirectUriOf } from './config/provider-config.ts';
import type { CodeClient } from './protocol/code-client.ts';
import type { Guards } from './protocol/guards.ts';
import type { Provider } from './protocol/provider.ts';
import type { ClientRecord } from './registration/client-record.ts';
import type { RegisteredClient } from './registration/registered-client.ts';
import { registeredClientOf } from './registration/registrar.ts';
import type { UpstreamDeps } from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';

interface Access {
  readonly client: CodeClient;
  readonly provider: Provider;
}

/** Access of the gateway to a provider without discovery: as a configured or as a registered client. */
export interface ProviderAccess {
  readonly clientId: string;
  isClient(clientId: string): Promise<boolean>;
  /** Runs an operation as the client. Rejects with `UpstreamError`. */
  use<T>(operation: (access: Access) => Promise<T>): Promise<T>;
}

export function accessOf(settings: OAuth2ProviderConfig, deps: UpstreamDeps, guards: Guards): ProviderAccess {
  const redirectUri = redirectUriOf(settings, deps, false);
  const { issuer, token_endpoint = '', token_response_mapping: mapping } = settings;
  const options = { redirectUri, rules: { openid: false, mapping }, audience: issuer ?? token_endpoint };
  const { dcr_config: dcr, client_id: clientId = '' } = settings;
  if (!dcr) {
    const access = { client: codeClientOf(settings, deps, options), provider: providerOf(settings, guards) };
    return {
      clientId,
      isClient: (id) => Promise.resolve(id === clientId),
      use: (operation) => operation(access),
    };
  }
  const openAs = (record: ClientRecord): Access => ({
    client: codeClientOf({ ...settings, client_id: record.client_id }, deps, options, () => record.client_secret),
    provider: providerOf(settings, guards, [record.auth_method]),
  });
  return new RegisteredAccess(registeredClientOf(settings, dcr, deps, { guards, redirectUri }), openAs);
}

function providerOf(settings: OAuth2ProviderConfig, guards: Guards, methods?: string[]): Provider {
  const { authorization_endpoint = '', token_endpoint = '', revocation_endpoint } = settings;
  return {
    metadata: {
      issuer: new URL(token_endpoint).origin,
      authorization_endpoint,
      token_endpoint,
      ...(revocation_endpoint !== undefined && { revocation_endpoint }),
      ...(methods && { token_endpoint_auth_methods_supported: methods }),
    },
    outbound: guards.of(token_endpoint),
  };
}

class RegisteredAccess implements ProviderAccess {
  readonly #registered: RegisteredClient;
  readonly #openAs: (record: ClientRecord) => Access;
  #opened: { readonly record: ClientRecord; readonly access: Access } | undefined;

  constructor(registered: RegisteredClient, openAs: (record: ClientRecord) => Access) {
    this.#registered = registered;
    this.#openAs = openAs;
  }

  get clientId(): string {
    return this.#registered.clientId;
  }

  isClient(clientId: string): Promise<boolean> {
    return this.#registered.isCurrent(clientId);
  }

  async use<T>(operation: (access: Access) => Promise<T>): Promise<T> {
    const record = await this.#registered.current();
    if (this.#opened?.record !== record) this.#opened = { record, access: this.#openAs(record) };
    try {
      return await operation(this.#opened.access);
    } catch (error) {
      if (error instanceof UpstreamError && error.providerError === 'invalid_client')
        await this.#registered.distrust(record.client_id);
      throw error;
    }
  }
}

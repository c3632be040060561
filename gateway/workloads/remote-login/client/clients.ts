import type { ServerMetadata } from 'openid-client';
import { registerAtProvider, renew, type ClientRecord } from '../../../authserver/upstream/registration/register.ts';
import type { Logger } from '../../../contract/logger.ts';
import { openRedirectListener, type RedirectListener } from '../../../http/redirect-listener.ts';
import type { Outbound } from '../../../outbound/fetch.ts';
import { isSameIssuer } from '../discovery/discovery.ts';
import { reasonOf, RemoteLoginError } from '../remote-login-error.ts';
import { given, type RemoteAuthConfig, type StoredRecord } from '../stored-record.ts';
import { ClientAuthentication } from '../../../authserver/upstream/protocol/client-authentication.ts';
import { CodeClient } from '../../../authserver/upstream/protocol/code-client.ts';
import type { Provider } from '../../../authserver/upstream/protocol/guards.ts';

/** vmcp as a client of one authorization server. */
export interface ClientIdentity {
  readonly clientId: string;
  readonly secret?: string | undefined;
  /** Method of its registration; undefined when the metadata of the server decide. */
  readonly authMethod?: string | undefined;
}

/** Client of one login attempt, with the listener for its redirect. */
export interface LoginClient extends ClientIdentity {
  readonly listener: RedirectListener;
  readonly redirectUri: string;
}

export interface ClientsOptions {
  readonly config: RemoteAuthConfig;
  readonly record: StoredRecord<typeof ClientRecord>;
  /** URL of the client metadata document of vmcp, used where the server supports it. */
  readonly clientMetadataUrl?: string | undefined;
  /** Returns the configured client secret. Rejects with `RemoteLoginError`. */
  readonly configuredSecret: () => Promise<string | undefined>;
  readonly onRegistered: (client: ClientRecord) => Promise<void>;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn' | 'info'>;
}

/** Server and purpose that a client is needed for. */
export interface ClientNeed {
  readonly metadata: ServerMetadata;
  readonly outbound: Outbound;
  readonly scopes: readonly string[];
}

const PORT = 8_666;
const PORTS_TO_TRY = 10;
/** A client secret that expires within this time is renewed. */
const RENEW_MS = 86_400_000;
const NEXT = 'Close this page.';

/** Clients of one remote server: configured, by metadata document, or registered. */
export class Clients {
  readonly #options: ClientsOptions;
  #registered: ClientRecord | undefined;
  #isRestored = false;

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  /** Opens the listener and returns the client of a login. Rejects with `RemoteLoginError` and `UpstreamError`. */
  async forLogin(need: ClientNeed): Promise<LoginClient> {
    const clientId = given(this.#options.config.client_id);
    if (clientId !== undefined) return this.#configured(clientId);
    const known = await this.#restored();
    const usable =
      known && isSameIssuer(known.issuer, need.metadata.issuer) && !this.#hasExpired(known) ? known : undefined;
    const first = usable && Number(new URL(usable.redirect_uri).port);
    const listener = await listen([...(first === undefined ? [] : [first]), ...this.#ports()]);
    const { redirectUri } = listener;
    try {
      const documentUrl = this.#documentUrl(need.metadata);
      if (documentUrl !== undefined) return { clientId: documentUrl, authMethod: 'none', listener, redirectUri };
      const record = usable?.redirect_uri === redirectUri ? usable : await this.#register(need, redirectUri);
      return { ...identityOf(await this.#renewed(record, need)), listener, redirectUri };
    } catch (error) {
      listener.close();
      throw error;
    }
  }

  /** Returns the client to which a stored login belongs. Rejects with `RemoteLoginError` when it is unknown. */
  async forRefresh(clientId: string, need: ClientNeed): Promise<ClientIdentity> {
    if (clientId === given(this.#options.config.client_id))
      return { clientId, secret: await this.#options.configuredSecret() };
    if (clientId === this.#options.clientMetadataUrl) return { clientId, authMethod: 'none' };
    const record = await this.#restored();
    if (record?.client_id !== clientId) throw new RemoteLoginError('the registered client of the login is lost');
    return identityOf(await this.#renewed(record, need));
  }

  /** Registers anew for the next login: the authorization server may have deleted the client. */
  distrust(): void {
    this.#isRestored = true;
    this.#registered = undefined;
  }

  async #configured(clientId: string): Promise<LoginClient> {
    const port = this.#options.config.callback_port || PORT;
    const secret = await this.#options.configuredSecret();
    const listener = await listen([port]);
    // Users register this redirect URI by hand, and authorization servers compare its text.
    return { clientId, secret, listener, redirectUri: `http://localhost:${String(port)}/callback` };
  }

  #ports(): readonly number[] {
    const first = this.#options.config.callback_port || PORT;
    return Array.from({ length: PORTS_TO_TRY }, (_, index) => first + index).filter((port) => port < 65_536);
  }

  #documentUrl(metadata: ServerMetadata): string | undefined {
    return metadata['client_id_metadata_document_supported'] === true ? this.#options.clientMetadataUrl : undefined;
  }

  async #restored(): Promise<ClientRecord | undefined> {
    if (this.#isRestored) return this.#registered;
    const { record, config } = this.#options;
    this.#registered = await record.read(given(config.cached_client_id) !== undefined);
    this.#isRestored = true;
    return this.#registered;
  }

  async #register({ metadata, outbound, scopes }: ClientNeed, redirectUri: string): Promise<ClientRecord> {
    const client = await registerAtProvider({ metadata, outbound, redirectUri, scopes });
    await this.#keep(client);
    this.#options.log.info('vmcp is registered at the authorization server', { issuer: client.issuer });
    return client;
  }

  /** Returns the record with a client secret that does not expire soon, if the server renews it. */
  async #renewed(record: ClientRecord, { outbound, scopes }: ClientNeed): Promise<ClientRecord> {
    const { secret_expires_at: expiresAt = Infinity, registration_uri, registration_token } = record;
    if (expiresAt - this.#options.now() > RENEW_MS) return record;
    if (registration_uri === undefined || registration_token === undefined) return record;
    try {
      const next = await renew(record, scopes, outbound);
      await this.#keep(next);
      return next;
    } catch (error) {
      const facts = { issuer: record.issuer, cause: reasonOf(error) };
      this.#options.log.warn('the client secret is not renewed by the authorization server', facts);
      return record;
    }
  }

  async #keep(client: ClientRecord): Promise<void> {
    this.#registered = client;
    this.#isRestored = true;
    await this.#options.record.write(client);
    await this.#options.onRegistered(client);
  }

  #hasExpired({ secret_expires_at: expiresAt = Infinity, registration_token }: ClientRecord): boolean {
    return expiresAt <= this.#options.now() && registration_token === undefined;
  }
}

const identityOf = ({ client_id, client_secret, auth_method }: ClientRecord): ClientIdentity => ({
  ...{ clientId: client_id, secret: client_secret, authMethod: auth_method },
});

async function listen(ports: readonly number[]): Promise<RedirectListener> {
  try {
    const listener = await openRedirectListener(ports, NEXT);
    listener.unref();
    return listener;
  } catch {
    const [first] = ports;
    const which =
      ports.length === 1 ? `port ${String(first)} is` : `ports ${String(first)} to ${String(ports.at(-1))} are`;
    throw new RemoteLoginError(`${which} in use: set callback_port to a free port for the redirect of the login`);
  }
}

const TIMEOUT_MS = 10_000;

interface TokenClient {
  readonly client: CodeClient;
  readonly provider: Provider;
}

/** Returns the client of the token endpoint. */
export function tokenClient(
  { clientId, secret, authMethod }: ClientIdentity,
  server: { readonly metadata: ServerMetadata; readonly outbound: Outbound },
  { redirectUri, resource, now }: { redirectUri: string; resource: string | undefined; now: () => number },
): TokenClient {
  const client = new CodeClient({
    ...{ clientId, redirectUri, timeoutMs: TIMEOUT_MS, now },
    authentication: new ClientAuthentication(() => secret),
    tokenParameters: resource === undefined ? undefined : { resource },
    rules: { openid: false },
  });
  // A registered client uses the method of its registration, whatever else the server supports.
  const methods = authMethod === undefined ? {} : { token_endpoint_auth_methods_supported: [authMethod] };
  return { client, provider: { outbound: server.outbound, metadata: { ...server.metadata, ...methods } } };
}

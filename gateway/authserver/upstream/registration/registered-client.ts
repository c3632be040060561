import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Value } from 'typebox/value';
import type { ServerMetadata } from 'openid-client';
import { parseObject } from '../../../contract/json.ts';
import type { RegistrationStore, UpstreamDeps } from '../upstream.ts';
import { UpstreamError } from '../upstream-error.ts';
import { ClientRecord, registerAtProvider, renew, type ClientProfile } from './register.ts';
import type { DcrConfig } from '../../../contract/run-config/upstreams.ts';
import type { Outbound } from '../../../outbound/fetch.ts';
import { SingleFlight } from '../../../kit/tasks.ts';

/** Operations at the registration endpoint. They reject with `UpstreamError`. */
export interface Registrar {
  register(): Promise<ClientRecord>;
  /** Renews the secret of a registration with a registration token. */
  renew(old: ClientRecord): Promise<ClientRecord>;
}

interface RegisteredClientOptions {
  /** Facts that the registration is valid for. Another one is needed when they change. */
  readonly facts: readonly string[];
  readonly registrar: Registrar;
  readonly store: RegistrationStore;
  readonly name: string;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: UpstreamDeps['log'];
}

/** A client secret that expires within this time is renewed or replaced. */
const EXPIRES_SOON_MS = 60_000;
/** Pauses and number of looks for the registration that another replica makes. */
const LOOK_AGAIN_MS = 250;
const LOOKS = 60;
/** Shortest time between two reads of the store because of an unknown client id. */
const REREAD_MS = 1_000;

/** Client of the gateway at one provider, registered when the first login needs it and shared by all replicas. */
export class RegisteredClient {
  readonly #options: RegisteredClientOptions;
  readonly #key: string;
  #known: ClientRecord | undefined;
  #readAt = -Infinity;
  readonly #flight = new SingleFlight<ClientRecord>();

  constructor(options: RegisteredClientOptions) {
    this.#options = options;
    this.#key = hash('sha256', JSON.stringify(options.facts), 'hex');
  }

  /** Client id of the last registration that this process has read; '' before. */
  get clientId(): string {
    return this.#known?.client_id ?? '';
  }

  /** Returns the registration; registers if there is none that works. Rejects with `UpstreamError`. */
  async current(): Promise<ClientRecord> {
    if (this.#known && this.#isUsable(this.#known)) return this.#known;
    return this.#flight.run(() =>
      this.#obtain().catch((error: unknown) => {
        if (error instanceof UpstreamError) throw error;
        throw new UpstreamError('unavailable', 'the store of the registration at the provider does not answer');
      }),
    );
  }

  /** Returns true if this is the id of the registration, which another replica may have replaced. Rejects if the store is down. */
  async isCurrent(clientId: string): Promise<boolean> {
    if (this.#known?.client_id === clientId) return true;
    if (this.#options.now() - this.#readAt >= REREAD_MS) await this.#read();
    return this.#known?.client_id === clientId;
  }

  /** Discards a registration that the provider has rejected. The next login registers again. Never rejects. */
  async distrust(clientId: string): Promise<void> {
    const { store, log, name } = this.#options;
    if (this.#known?.client_id === clientId) this.#known = undefined;
    try {
      await store.exclusively(this.#key, async () => {
        if ((await this.#read())?.client_id !== clientId) return true; // another replica has registered already
        await store.delete(this.#key);
        this.#known = undefined;
        return true;
      });
      log.warn('the provider does not accept its registered client: the next login registers again', {
        provider: name,
      });
    } catch {
      log.warn('a rejected registration could not be deleted', { provider: name });
    }
  }

  async #obtain(): Promise<ClientRecord> {
    const { store } = this.#options;
    for (let look = 0; look < LOOKS; look += 1) {
      const made = await store.exclusively(this.#key, () => this.#readOrRegister());
      if (made) return made;
      await sleep(LOOK_AGAIN_MS);
    }
    throw new UpstreamError('unavailable', 'another replica is registering at the provider');
  }

  async #readOrRegister(): Promise<ClientRecord> {
    const present = await this.#read();
    if (present && this.#isUsable(present)) return present;
    const { registrar, store, log, name } = this.#options;
    const renewed = present?.registration_uri === undefined ? undefined : await this.#renewed(present);
    const record = renewed ?? (await registrar.register());
    await store.put(this.#key, JSON.stringify(record));
    this.#known = record;
    log.info('the gateway is registered at the provider', { provider: name, client_id: record.client_id });
    return record;
  }

  /** Returns undefined if the provider does not renew the secret. */
  async #renewed(old: ClientRecord): Promise<ClientRecord | undefined> {
    const { registrar, log, name } = this.#options;
    try {
      const renewed = await registrar.renew(old);
      return this.#isUsable(renewed) ? renewed : undefined;
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      if (error.fault === 'unavailable') throw error;
      log.debug('the provider does not renew the client secret', { provider: name, cause: error.message });
      return undefined;
    }
  }

  #isUsable({ secret_expires_at: expiresAt = Infinity }: ClientRecord): boolean {
    return expiresAt - this.#options.now() > EXPIRES_SOON_MS;
  }

  async #read(): Promise<ClientRecord | undefined> {
    const { store, now } = this.#options;
    const record = parseObject((await store.get(this.#key)) ?? '');
    this.#readAt = now();
    this.#known = Value.Check(ClientRecord, record) ? record : undefined;
    return this.#known;
  }
}

type Deps = Pick<UpstreamDeps, 'name' | 'now' | 'log' | 'readSecret' | 'registrations'>;

/** Place where the gateway registers. */
export interface RegistrationPlace {
  /** Configured URL that leads to the registration endpoint. */
  readonly address: string;
  readonly outbound: Outbound;
  /** Configured scopes. */
  readonly scopes: readonly string[];
  /** Returns the current metadata and the scopes to register for. Rejects with `UpstreamError`. */
  readonly find: () => Promise<{ readonly metadata: ServerMetadata; readonly scopes: readonly string[] }>;
}

/** Creates the registered client of a provider with `dcr_config`. */
export function createRegisteredClient(
  dcr: DcrConfig,
  deps: Deps,
  redirectUris: readonly string[],
  place: RegistrationPlace,
): RegisteredClient {
  const { software_id, software_statement } = dcr;
  const { name, now, log, registrations: store } = deps;
  if (!store) throw new Error('a provider with dcr_config needs a store');
  const scopes = place.scopes.toSorted().join(' ');
  const facts = [place.address, name, redirectUris.join(' '), scopes, software_id, software_statement];
  return new RegisteredClient({
    facts: facts.map((fact) => fact ?? ''),
    registrar: registrarOf(dcr, deps, redirectUris, place),
    ...{ store, name, now, log },
  });
}

function registrarOf(
  dcr: DcrConfig,
  deps: Deps,
  redirectUris: readonly string[],
  { outbound, find }: RegistrationPlace,
): Registrar {
  const [redirectUri = ''] = redirectUris;
  const profile = () => profileOf(dcr, deps, redirectUris);
  return {
    register: async () => registerAtProvider({ ...(await find()), outbound, redirectUri, profile: profile() }),
    renew: async (old) => renew(old, (await find()).scopes, outbound, profile()),
  };
}

/** Reads the initial access token for every registration, so that a changed file takes effect. */
function profileOf(
  { software_id, software_statement, initial_access_token_file: file }: DcrConfig,
  deps: Deps,
  redirectUris: readonly string[],
): ClientProfile {
  return {
    redirectUris,
    methods: ['client_secret_basic', 'client_secret_post', 'none'],
    members: {
      application_type: 'web',
      ...(software_id !== undefined && { software_id }),
      ...(software_statement !== undefined && { software_statement }),
    },
    ...(file !== undefined && { initialAccessToken: tokenIn(file, deps) }),
  };
}

function tokenIn(file: string, { readSecret }: Deps): string {
  try {
    return readSecret(file).trim();
  } catch (error) {
    const message = error instanceof Error ? error.message : 'it cannot be read';
    throw new UpstreamError('misconfigured', `the initial access token is missing: ${message}`);
  }
}

import type { Logger } from '../../contract/logger.ts';
import type { Outbound, OutboundOptions } from '../../outbound/fetch.ts';
import type { DiskCache } from './disk-cache.ts';
import type { RegistryCatalog } from './document/catalog.ts';
import type { LoginStore } from './login-store.ts';
import { loginRequired, RegistryLogin } from './login.ts';
import { ReadingCache, type Read } from './reading-cache.ts';
import type { RegistrySettings, RegistrySummary } from './schema/registry.ts';
import { sourceOf } from './sources/index.ts';
import { registryPolicy, requester } from './sources/request.ts';
import type { RegistryReading } from './sources/source.ts';

/** Dependencies of the parts of a registry. */
export interface RegistryDeps {
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
  readonly outbound: (options: OutboundOptions) => Outbound;
  readonly logins: LoginStore;
  readonly disk: DiskCache;
  /** Ports of the redirect URI of a login; 8666 to 8675 when absent. */
  readonly loginPorts?: readonly number[] | undefined;
}

/** The registry of one version of the settings. */
export class ConfiguredRegistry {
  readonly settings: RegistrySettings;
  /** Login at the registry; undefined without `auth`. */
  readonly login: RegistryLogin | undefined;
  readonly #outbound: Outbound;
  readonly #cache: ReadingCache;
  readonly #read: Read;
  readonly #isRemote: boolean;

  /** Throws `RegistryFault` for an issuer that must not be called. */
  constructor(settings: RegistrySettings, deps: RegistryDeps) {
    const { type, location, allow_private_ip: allowPrivateIp, auth } = settings;
    const { now, outbound, log, logins, disk, loginPorts } = deps;
    this.settings = settings;
    this.#outbound = outbound({ policy: registryPolicy(allowPrivateIp), log });
    this.login =
      auth && new RegistryLogin({ auth, allowPrivateIp, store: logins, outbound, now, log, ports: loginPorts });
    const source = sourceOf(type);
    const request = requester(this.#outbound, async () => this.login?.authorization());
    this.#read = (known) => source.read(location, { request, readAt: new Date(now()).toISOString(), known });
    this.#isRemote = source.isRemote;
    this.#cache = new ReadingCache(location, { disk, now, log });
  }

  /** Returns the content. Throws `RegistryFault`. Without the login that the registry needs it throws even if the content is cached. */
  async catalog(): Promise<RegistryCatalog> {
    if (this.login && !(await this.login.isLoggedIn())) throw loginRequired();
    const { catalog } = await (this.#isRemote ? this.#cache.current(this.#read) : this.#read(undefined));
    return catalog;
  }

  /** Reads again. */
  async refresh(): Promise<void> {
    await (this.#isRemote ? this.#cache.refresh(this.#read) : this.#read(undefined));
  }

  /** Keeps what was read from a location without a credential, unless this registry is another one or needs a login. */
  async keep(location: string, reading: RegistryReading): Promise<void> {
    if (!this.#isRemote || this.login || location !== this.settings.location) return;
    await this.#cache.refresh(() => Promise.resolve(reading));
  }

  async authStatus(): Promise<RegistrySummary['auth_status']> {
    if (!this.login) return 'none';
    return (await this.login.isLoggedIn()) ? 'authenticated' : 'configured';
  }

  /** Ends the login and forgets the content. Rejects if the stored login cannot be deleted. */
  async logOut(): Promise<void> {
    await this.login?.end();
    await this.#cache.clear();
  }

  async close(): Promise<void> {
    await Promise.all([this.#outbound.close(), this.login?.close()]);
  }
}

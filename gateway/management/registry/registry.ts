import { join } from 'node:path';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { createOutbound } from '../../outbound/fetch.ts';
import { StateFile } from '../state/state-file.ts';
import { ConfiguredRegistry, type RegistryDeps } from './configured-registry.ts';
import { DiskCache } from './disk-cache.ts';
import type { RegistryCatalog } from './document/catalog.ts';
import { convertCatalog, type Entries } from './document/server-entries.ts';
import { readingError, updateError } from './fault.ts';
import { LoginStore, type RegistrySecrets } from './login-store.ts';
import type { PendingLogin } from './login.ts';
import {
  BUILT_IN,
  RegistrySettings,
  type RegistryDetail,
  type RegistrySummary,
  type RegistryUpdate,
  type SourceType,
} from './schema/registry.ts';
import { validateUpdate } from './validate-update.ts';

const DEFAULT = 'default';
/** Longest list of entries in a line of the log. */
const MAX_LOGGED = 10;

export interface RegistryOptions extends Pick<RegistryDeps, 'now' | 'log' | 'loginPorts'> {
  /** Folder of `registry.json` and of the cache. It belongs to this process alone. */
  readonly stateDir: string;
  /** Secrets for the login at a registry; absent: the login is kept in memory only. */
  readonly secrets?: RegistrySecrets | undefined;
  /** Rejects every change of the settings. */
  readonly isReadOnly: boolean;
}

interface Content {
  readonly catalog: RegistryCatalog;
  readonly entries: Entries;
}

/** The registry of servers and skills. Makes no request before it is used. */
export class Registry {
  readonly #isReadOnly: boolean;
  readonly #file: StateFile<typeof RegistrySettings>;
  readonly #deps: RegistryDeps;
  #open: ConfiguredRegistry | undefined;
  #content: Content | undefined;
  /** Problems that the log has already. */
  #logged = '[]';

  constructor({ stateDir, secrets, isReadOnly, now, log, loginPorts }: RegistryOptions) {
    this.#isReadOnly = isReadOnly;
    this.#file = new StateFile(join(stateDir, 'registry.json'), RegistrySettings, BUILT_IN);
    const logins = new LoginStore(secrets, log);
    this.#deps = { now, log, outbound: createOutbound, loginPorts, logins, disk: new DiskCache(stateDir) };
  }

  /** Returns the state without entries. Throws `READING_ERRORS`. */
  async summary(): Promise<RegistrySummary> {
    const registry = await this.#configured();
    return summaryOf(registry, await this.#contentOf(registry));
  }

  /** Returns the state and all entries. Throws `READING_ERRORS`. */
  async detail(): Promise<RegistryDetail> {
    const registry = await this.#configured();
    const content = await this.#contentOf(registry);
    const summary = await summaryOf(registry, content);
    const { servers, remoteServers } = content.entries;
    const { version, last_updated } = summary;
    return {
      ...summary,
      registry: {
        ...{ version, last_updated, servers: Object.fromEntries(servers) },
        ...(remoteServers.size > 0 && { remote_servers: Object.fromEntries(remoteServers) }),
      },
    };
  }

  /** Returns the content. Throws `READING_ERRORS`. */
  async catalog(): Promise<RegistryCatalog> {
    return (await this.#contentOf(await this.#configured())).catalog;
  }

  /** Returns the skills. Throws `READING_ERRORS`. */
  async skills(): Promise<RegistryCatalog['skills'] & object> {
    const { skills } = await this.catalog();
    if (skills) return skills;
    throw new OperationError('registry_unavailable', 'the registry does not deliver its skills: try again later');
  }

  /** Returns the entries of all servers. Throws `READING_ERRORS`. */
  async entries(): Promise<Entries> {
    return (await this.#contentOf(await this.#configured())).entries;
  }

  /** Reads the registry again. Throws `READING_ERRORS`. */
  async refresh(): Promise<void> {
    const registry = await this.#configured();
    try {
      await registry.refresh();
    } catch (error) {
      throw readingError(error);
    }
  }

  /** Checks new settings, then ends the login of the old ones and stores the new ones. Throws `UPDATE_ERRORS`. */
  async update(update: RegistryUpdate): Promise<SourceType> {
    const { settings, reading } = await this.#validated(update);
    await (await this.#configured()).logOut();
    await this.#file.update(() => settings);
    const old = this.#open;
    this.#open = undefined;
    await old?.close();
    if (reading) await (await this.#configured()).keep(settings.location, reading);
    return settings.type;
  }

  /** Rejects a removal, because the default registry stays. Throws `DELETE_ERRORS`. */
  remove(): never {
    this.#permit();
    throw new OperationError('bad_settings');
  }

  /** Starts a login at the registry; returns undefined if vmcp is logged in. Throws `LOGIN_ERRORS`. */
  async logIn(): Promise<PendingLogin | undefined> {
    const { login } = await this.#configured();
    if (!login) throw new OperationError('no_auth');
    if (await login.isLoggedIn()) return undefined;
    try {
      return await login.start();
    } catch (error) {
      this.#deps.log.warn('the login at the registry cannot start', { cause: String(error) });
      throw new OperationError('login_failed');
    }
  }

  /** Ends the login at the registry. Throws `LOGIN_ERRORS`. */
  async logOut(): Promise<void> {
    const registry = await this.#configured();
    if (!registry.login) throw new OperationError('no_auth');
    await registry.logOut();
  }

  async #validated(update: RegistryUpdate) {
    try {
      return await validateUpdate(update, () => this.#permit(), this.#deps);
    } catch (error) {
      throw updateError(error);
    }
  }

  #permit(): void {
    if (this.#isReadOnly) throw new OperationError('read_only');
  }

  async #configured(): Promise<ConfiguredRegistry> {
    const settings = this.#open ? undefined : await this.#file.read();
    if (settings) this.#open ??= new ConfiguredRegistry(settings, this.#deps);
    return this.#open as ConfiguredRegistry;
  }

  /** Logs entries that cannot be used, once until they change. */
  #logProblems({ problems }: Entries): void {
    const text = JSON.stringify(problems);
    if (text === this.#logged) return;
    this.#logged = text;
    if (problems.length === 0) return;
    this.#deps.log.warn('entries of the registry cannot be used: GET /api/v1beta/registry/default lists them', {
      ...{ count: problems.length, entries: problems.slice(0, MAX_LOGGED) },
    });
  }

  /** Converts each catalog once. */
  async #contentOf(registry: ConfiguredRegistry): Promise<Content> {
    try {
      const catalog = await registry.catalog();
      if (this.#content?.catalog === catalog) return this.#content;
      const content = { catalog, entries: convertCatalog(catalog) };
      this.#content = content;
      this.#logProblems(content.entries);
      return content;
    } catch (error) {
      throw readingError(error);
    }
  }
}

async function summaryOf(registry: ConfiguredRegistry, { catalog, entries }: Content): Promise<RegistrySummary> {
  const { type, location, auth } = registry.settings;
  return {
    ...{ name: DEFAULT, version: catalog.version, last_updated: catalog.lastUpdated },
    ...{ server_count: entries.servers.size, type, source: location },
    auth_status: await registry.authStatus(),
    auth_type: auth ? 'oauth' : '',
    ...(auth && { auth_config: auth }),
    ...(entries.problems.length > 0 && { problems: [...entries.problems] }),
  };
}

import { isDeepStrictEqual } from 'node:util';
import type { GatewayConfig } from './contract/gateway-config.ts';
import type { Logger } from './contract/logger.ts';
import type { KeyValueStore } from './kvstore/key-value-store.ts';
import { NO_CHANGE, type Change } from './kit/parts.ts';
import { keySection, openSharedStore, reachStore, sharedStoreOf } from './shared-store.ts';
import { createHash } from 'node:crypto';

/** Longest wait for the store. A slower store counts as unavailable. */
const REPLY_TIMEOUT_MS = 2_000;

const LACKS_RIGHTS =
  'the user of the key-value store lacks rights for the sessions: see docs/replicas.md, or set sessionStorage to memory';

export interface SessionStorageDeps {
  readonly log: Logger;
  /** Value of an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** Called with each store that is used from now on. */
  readonly use: (store: KeyValueStore | undefined) => void;
}

/** The store of one virtual server's sessions, and the settings that it was opened with. */
interface Opened {
  readonly place: ReturnType<typeof placeOf>;
  readonly store: KeyValueStore | undefined;
}

/** Store that the replicas of one virtual server share their sessions in; without one they stay in memory. */
export class SessionStorage {
  readonly #deps: SessionStorageDeps;
  #opened: Opened = { place: undefined, store: undefined };

  constructor(deps: SessionStorageDeps) {
    this.#deps = deps;
  }

  get current(): KeyValueStore | undefined {
    return this.#opened.store;
  }

  /** Opens the store of `config`, if it is another store. Rejects with an Error that names an unusable setting. */
  async prepare(config: GatewayConfig): Promise<Change> {
    const before = this.#opened;
    const place = placeOf(config);
    if (isDeepStrictEqual(place, before.place)) return NO_CHANGE;
    const next: Opened = { place, store: place && (await this.#open(place)) };
    return {
      apply: () => {
        this.#opened = next;
        this.#deps.use(next.store);
        closeSoon(before);
      },
      discard: () => next.store?.close(),
    };
  }

  close(): void {
    closeSoon(this.#opened);
  }

  async #open({ shared, section }: NonNullable<ReturnType<typeof placeOf>>): Promise<KeyValueStore> {
    const { log, env } = this.#deps;
    const onDenied = (fault: string): void => {
      log.warn(LACKS_RIGHTS, { fault });
    };
    const store = await openSharedStore(shared, section, { log, env, replyTimeoutMs: REPLY_TIMEOUT_MS, onDenied });
    await reachStore(store);
    return store;
  }
}

/** Messages that are under way get their answer within this time. */
const closeSoon = ({ store }: Opened): void => {
  if (store) setTimeout(() => store.close(), REPLY_TIMEOUT_MS).unref();
};

/** Returns the store of a configuration's sessions and the section of its keys; undefined for the memory. */
function placeOf(config: GatewayConfig) {
  const shared = config.vmcp.session_storage === 'memory' ? undefined : sharedStoreOf(config);
  return shared && { shared, section: keySection('mcp', config.vmcp.namespace, config.vmcp.store_name ?? config.name) };
}

/** Returns a digest of the members that decide which clients are accepted. */
export function clientRulesOf({ oidc_config: oidc, vmcp: { incoming } }: GatewayConfig): string {
  const rules = {
    issuer: oidc?.issuer,
    audience: oidc?.audience,
    clientId: oidc?.clientID,
    keys: oidc?.jwksurl,
    ...incoming,
    allowed_hosts: undefined,
    allowed_origins: undefined,
  };
  return createHash('sha256')
    .update(JSON.stringify(sorted(rules)))
    .digest('base64url')
    .slice(0, 16);
}

/** Returns members in the order of their names, so that equal rules have equal texts. */
const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(
        Object.entries(value)
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map(([name, member]) => [name, sorted(member)]),
      )
    : value;

import { durationMs } from '../../contract/fields.ts';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import type { Policy, Viewer } from '../../policy/policy.ts';
import type { Catalog } from '../aggregation/catalog.ts';
import { mayHaveTool } from '../aggregation/tool-names.ts';
import type { View } from '../aggregation/view.ts';
import { announces } from '../backends/backend-lists.ts';
import { discoverFor, type BackendDiscovery } from '../backends/discover.ts';
import type { Fleet } from '../backends/fleet.ts';
import { PATIENCE_MS, UNKNOWN_MS } from '../backends/list-renewal.ts';
import { endOf, LONGEST_TIMER_MS } from '../../kit/time.ts';
import { isListening, type Session } from '../session.ts';
import type { BackendFailure, FailureKind } from '../transport/channel.ts';
import type { ReadableView } from './readable-view.ts';
import { ListedViews } from './listed.ts';
import { LiveView } from './live-view.ts';
import { PersonalCatalogs } from './personal-catalogs.ts';
import type { Logger } from '../../contract/logger.ts';

export interface ViewsOptions {
  readonly fleet: Fleet;
  readonly log: Logger;
  /** Policies of the current configuration. */
  readonly policies: () => readonly Policy[];
  /** ms. */
  readonly now: () => number;
  /** Called when the view of any principal may have changed; never while a view is being read. */
  readonly onChange: () => void;
  /** Called when the view of one principal may have changed. */
  readonly onPrincipalChange: (principal: string) => void;
}

export interface UnreadBackend {
  readonly backend: string;
  readonly failure: BackendFailure;
}

const LOG_EVERY_MS = 5_000;
/** Failures that are logged where the credential is missing, or that concern the login of the user. */
const OF_CREDENTIAL: ReadonlySet<FailureKind> = new Set([
  'reauthenticate',
  'forbidden',
  'misconfigured',
  'credential_unavailable',
  'store_unavailable',
  'cancelled',
]);

/** Returns true when a backend announces changes of its lists to this session. */
function isAnnounced(session: Session, backend: string): boolean {
  const channel = session.channels.get(backend)?.channel;
  return channel?.alive === true && announces(channel);
}

/** Time after which principals without a session are removed. */
const KEEP_MS = 300_000;

/**
 * Views of a virtual server. All principals share one, unless a backend has per-user credentials: then each principal
 * has a view, which principals with equal lists share.
 */
export class Views {
  readonly shared: LiveView;
  readonly #options: ViewsOptions;
  #config: GatewayConfig;
  readonly #principals = new Map<string, PersonalCatalogs>();
  /** Views by the lists that backends with per-user credentials returned. */
  readonly #groups = new Map<string, LiveView>();
  readonly #listed = new ListedViews();
  #isNotifying = false;
  /** Times of the last lines about lists that cannot be read, by backend. */
  readonly #loggedAt = new Map<string, number>();

  constructor(config: GatewayConfig, options: ViewsOptions) {
    this.#config = config;
    this.#options = options;
    const { fleet: source, log } = options;
    this.shared = new LiveView(config, {
      source,
      log,
      onChange: () => {
        this.#notifySoon();
      },
    });
  }

  of(session: Session): ReadableView {
    return this.#options.fleet.personal.length === 0 ? this.shared : new PrincipalView(this, session);
  }

  /** Returns the current view of a session without the items that policies hide. */
  listed(session: Session): View {
    return this.#listed.of(this.of(session).current, session, this.#options.policies());
  }

  /** Returns the view that all principals share without the items that policies hide from any of them. */
  sharedFor(viewer: Viewer): View {
    return this.#listed.of(this.shared.current, viewer, this.#options.policies());
  }

  /**
   * Refreshes outdated lists in the background, when the client requests a list. Returns the end of a reading for which the request must
   * wait; it never rejects.
   */
  renew(session: Session): Promise<unknown> | undefined {
    const { fleet } = this.#options;
    const shared = fleet.renewal.requested(session);
    if (fleet.personal.length === 0) return shared;
    const catalogs = this.catalogsOf(session);
    const old = fleet.personal.flatMap((backend) => {
      const isOld = catalogs.isOld(backend);
      const reading = this.read(session, backend);
      return isOld && reading ? [reading] : [];
    });
    if (old.length === 0) return shared;
    return Promise.all([shared, endOf(PATIENCE_MS, Promise.all(old))]);
  }

  /** Reads a per-user backend when its lists are outdated. Returns the end of the discovery, which never rejects. */
  read(session: Session, backend: string, freshMs?: number): Promise<void> | undefined {
    const { fleet } = this.#options;
    const read = (name: string): Promise<BackendDiscovery> => discoverFor(session, fleet.runtime(name));
    const onRead = (): void => {
      this.#logFailure(session, backend);
      this.#options.onPrincipalChange(session.principal);
    };
    return this.catalogsOf(session).renew(backend, session.identity, read, onRead, freshMs);
  }

  /** Logs lists of a user that cannot be read, once in 5 s for each backend. A missing credential has a line of its own. */
  #logFailure(session: Session, backend: string): void {
    const failure = this.catalogsOf(session).failure(backend);
    const { now, log } = this.#options;
    if (!failure || OF_CREDENTIAL.has(failure.kind)) return;
    if (now() - (this.#loggedAt.get(backend) ?? -Infinity) < LOG_EVERY_MS) return;
    this.#loggedAt.set(backend, now());
    log.warn('lists of a user cannot be read', { backend, reason: failure.kind, detail: failure.detail });
  }

  /**
   * Reads lists again in which nobody announces changes, because the client named an item that no list has. `isPossible` returns false
   * for backends that cannot have it. Returns the end of the reading, which never rejects; undefined when nothing is read.
   */
  readAgain(session: Session, isPossible: (backend: string) => boolean): Promise<unknown> | undefined {
    const { fleet } = this.#options;
    const shared = fleet.renewal.unknown(isPossible);
    const own = fleet.personal.flatMap((backend) =>
      isPossible(backend) && !isAnnounced(session, backend) ? (this.read(session, backend, UNKNOWN_MS) ?? []) : [],
    );
    if (own.length === 0) return shared;
    return Promise.all([shared, endOf(PATIENCE_MS, Promise.all(own))]);
  }

  /** Resolves when `find` finds an item, or when no backend has it: the lists are then read again first. */
  async whenKnown(session: Session, find: (view: View) => unknown): Promise<void> {
    const view = this.of(session);
    await view.whenSettled();
    if (find(view.current) === undefined) await this.readAgain(session, () => true);
  }

  /** Returns true for a backend that may have the tool of this name. */
  mayHaveTool(backend: string, name: string): boolean {
    return mayHaveTool(this.#config.vmcp.aggregation, backend, name);
  }

  /** Reads lists again in which nobody announces changes, for the sessions whose clients wait for announcements. */
  renewAwaited(sessions: Iterable<Session>): void {
    const { fleet } = this.#options;
    const listening = new Map<string, Session>();
    for (const session of sessions) if (isListening(session)) listening.set(session.principal, session);
    if (listening.size > 0) fleet.renewal.awaited();
    for (const session of listening.values())
      for (const backend of fleet.personal) if (!isAnnounced(session, backend)) void this.read(session, backend);
  }

  catalogsOf({ principal }: Session): PersonalCatalogs {
    let catalogs = this.#principals.get(principal);
    if (!catalogs) {
      const { now } = this.#options;
      catalogs = new PersonalCatalogs(now);
      this.#principals.set(principal, catalogs);
    }
    catalogs.lastUsedAt = this.#options.now();
    return catalogs;
  }

  /** Returns the view of all principals whose per-user backends list the same. */
  groupOf(session: Session): LiveView {
    const { personal } = this.#options.fleet;
    const own = this.catalogsOf(session);
    const key = own.key(personal);
    let group = this.#groups.get(key);
    if (!group) {
      group = this.#newGroup(own, personal);
      this.#groups.set(key, group);
    }
    return group;
  }

  /** Returns the per-user backend that may have `name` and whose lists could not be read. */
  unreadBackend(session: Session, name: string): UnreadBackend | undefined {
    for (const backend of this.#options.fleet.personal) {
      const own = this.catalogsOf(session);
      const failure = own.catalog(backend) ? undefined : own.failure(backend);
      if (failure && this.mayHaveTool(backend, name)) return { backend, failure };
    }
    return undefined;
  }

  /** Handles a changed list for one principal, or for all. Calls `readNow` soon and once for each of them. */
  listChanged(backend: string, principal: string | undefined, readNow: (principal: string) => void): void {
    for (const [name, catalogs] of this.#principals) {
      if (principal !== undefined && principal !== name) continue;
      catalogs.listChanged(backend, () => {
        readNow(name);
      });
    }
  }

  forget(backend: string): void {
    for (const catalogs of this.#principals.values()) catalogs.forget(backend);
  }

  invalidate(): void {
    this.shared.invalidate();
    for (const group of this.#groups.values()) group.invalidate();
  }

  swap(config: GatewayConfig): void {
    this.#config = config;
    this.#groups.clear(); // the backends they route to may have other names now
    this.shared.swap(config);
  }

  /** Removes principals without a session, and views without a principal. */
  sweep(isLive: (principal: string) => boolean): void {
    const oldest = this.#options.now() - KEEP_MS;
    for (const [principal, { lastUsedAt }] of this.#principals) {
      if (lastUsedAt < oldest && !isLive(principal)) this.#principals.delete(principal);
    }
    const { personal } = this.#options.fleet;
    const keys = new Set([...this.#principals.values()].map((catalogs) => catalogs.key(personal)));
    for (const key of this.#groups.keys()) if (!keys.has(key)) this.#groups.delete(key);
  }

  /** Longest wait of a request for lists, ms. */
  get patienceMs(): number {
    return Math.min(durationMs(this.#config.vmcp.operational.timeouts.default), LONGEST_TIMER_MS);
  }

  get fleet(): Fleet {
    return this.#options.fleet;
  }

  /**
   * Notifies once for all views that change together: the listener reads views, which may change during the
   * notification.
   */
  #notifySoon(): void {
    if (this.#isNotifying) return;
    this.#isNotifying = true;
    setImmediate(() => {
      this.#isNotifying = false;
      this.#options.onChange();
    });
  }

  #newGroup(own: PersonalCatalogs, personal: readonly string[]): LiveView {
    const { fleet, log } = this.#options;
    const catalogs = personal.flatMap((backend) => own.catalog(backend) ?? []);
    const down = personal.filter((backend) => {
      const failure = own.catalog(backend) ? undefined : own.failure(backend);
      return failure !== undefined && failure.kind !== 'reauthenticate';
    });
    const source = {
      catalogs: () => [...fleet.catalogs(), ...catalogs.filter(({ backend }) => fleet.isAdvertised(backend))],
      unavailable: () => [...new Set([...fleet.unavailable(), ...down])],
      whenSettled: (timeoutMs: number) => fleet.whenSettled(timeoutMs),
      get settled() {
        return fleet.settled;
      },
    };
    const group = new LiveView(this.#config, {
      source,
      log,
      known: () => this.shared.problems,
      onChange: () => {
        this.#notifySoon();
      },
    });
    group.load();
    return group;
  }
}

/** View of the principal of one session. */
class PrincipalView implements ReadableView {
  readonly #views: Views;
  readonly #session: Session;

  constructor(views: Views, session: Session) {
    this.#views = views;
    this.#session = session;
  }

  get current(): View {
    return this.#views.groupOf(this.#session).current;
  }

  get settled(): boolean {
    const { shared, fleet } = this.#views;
    const own = this.#views.catalogsOf(this.#session);
    return shared.settled && fleet.personal.every((backend) => own.isSettled(backend, this.#session.identity));
  }

  get certain(): boolean {
    return this.#views.shared.hasDistinctPrefixes || this.settled;
  }

  async whenSettled(): Promise<void> {
    const { shared, fleet, patienceMs } = this.#views;
    const readings = fleet.personal.map((backend) => this.#views.read(this.#session, backend));
    await endOf(patienceMs, Promise.all([shared.whenSettled(), ...readings]));
  }

  nextChange(): Promise<void> {
    const readings = this.#views.fleet.personal.flatMap((backend) => this.#views.read(this.#session, backend) ?? []);
    return Promise.race([this.#views.shared.nextChange(), ...readings]);
  }

  catalog(backend: string): Catalog | undefined {
    return this.#views.shared.catalog(backend) ?? this.#views.catalogsOf(this.#session).catalog(backend);
  }
}

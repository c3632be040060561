import { durationMs } from '../../contract/fields.ts';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import type { Policy } from '../../policy/policy.ts';
import type { Catalog } from '../aggregation/catalog.ts';
import type { View } from '../aggregation/view.ts';
import { discoverFor } from '../backends/discover.ts';
import type { Fleet } from '../backends/fleet.ts';
import { LONGEST_TIMER_MS } from '../clock.ts';
import type { Session } from '../session.ts';
import type { BackendFailure } from '../transport/channel.ts';
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

  /** Refreshes outdated lists of per-user backends in the background, when the principal requests a list. */
  renew(session: Session): void {
    for (const backend of this.#options.fleet.personal) void this.read(session, backend);
  }

  /** Reads a per-user backend when its lists are outdated. Returns the end of the discovery, which never rejects. */
  read(session: Session, backend: string): Promise<void> | undefined {
    const { fleet } = this.#options;
    const read = (name: string): Promise<Catalog> => discoverFor(session, fleet.runtime(name));
    return this.catalogsOf(session).renew(backend, session.identity, read, () => {
      this.#options.onPrincipalChange(session.principal);
    });
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
    const { prefix_format: format, conflict_resolution: strategy } = this.#config.vmcp.aggregation;
    for (const backend of this.#options.fleet.personal) {
      const own = this.catalogsOf(session);
      const failure = own.catalog(backend) ? undefined : own.failure(backend);
      const isPossible = strategy !== 'prefix' || name.startsWith(format.replaceAll('{workload}', backend));
      if (failure && isPossible) return { backend, failure };
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
    const limit = Promise.withResolvers<undefined>();
    const timer = setTimeout(limit.resolve, patienceMs, undefined);
    await Promise.race([Promise.all([shared.whenSettled(), ...readings]), limit.promise]);
    clearTimeout(timer);
  }

  nextChange(): Promise<void> {
    const readings = this.#views.fleet.personal.flatMap((backend) => this.#views.read(this.#session, backend) ?? []);
    return Promise.race([this.#views.shared.nextChange(), ...readings]);
  }

  catalog(backend: string): Catalog | undefined {
    return this.#views.shared.catalog(backend) ?? this.#views.catalogsOf(this.#session).catalog(backend);
  }
}

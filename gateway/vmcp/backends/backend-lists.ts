import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../contract/json.ts';
import type { Catalog } from '../aggregation/catalog.ts';
import type { Warning } from '../aggregation/view.ts';
import { revisionOf } from '../../contract/protocol/revisions.ts';
import { wordsOf } from '../health/reason.ts';
import { BackendError, type Channel, type FailureKind } from '../transport/channel.ts';
import { ask } from '../transport/request-reply.ts';
import {
  declaredLists,
  discover,
  listUnavailable,
  withLast,
  type AskOptions,
  type BackendDiscovery,
  type UnreadLists,
} from './discover.ts';
import { backoffMs } from '../../kit/time.ts';

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** Failures that concern the channel, so that another request on it says nothing more. */
const OF_CHANNEL: ReadonlySet<FailureKind> = new Set(['session_lost', 'unauthenticated', 'cancelled']);

/** Lists of a backend for all principals, as they were read last. */
export class BackendLists {
  catalog: Catalog | undefined;
  /** The channel that `catalog` was read from. */
  channel: Channel | undefined;
  /** True when a list has changed or could not be read: the next probe reads all lists. */
  stale = false;
  /** Start of the last reading that the age of the lists caused, or end of the last reading, ms since the epoch. */
  readAt = 0;
  /** Duration of the last reading, ms. */
  tookMs = 0;
  /** Problems of the last reading. */
  warnings: readonly Warning[] = [];
  /** Problem of a backend that has refused all its lists, and whose lists were never read. */
  refused: Warning | undefined;
  #unread: UnreadLists = new Map();
  /** Readings in a row that left something to read. */
  #attempts = 0;

  /** True for a backend whose changes nobody announces: it declares that for a list, or its messages cannot arrive. */
  get isSilent(): boolean {
    return this.channel !== undefined && !announces(this.channel);
  }

  /** Cause in words of tools that cannot be read; undefined when they were read. Other lists are a problem, but no flaw. */
  get flaw(): string | undefined {
    return this.#unread.get('tools');
  }

  /** Time until a list that is missing, or has no tools, is read again; undefined if there is no such list. */
  get retryMs(): number | undefined {
    return this.#attempts === 0 ? undefined : backoffMs(this.#attempts, FIRST_RETRY_MS, LONGEST_RETRY_MS);
  }

  /** True while a list could not be read: it is read again after `retryMs`. */
  get isPartial(): boolean {
    return this.#unread.size > 0;
  }

  isOutdated(channel: Channel): boolean {
    return this.channel !== channel || this.stale;
  }

  /**
   * Reads all lists on this channel. Returns true when they differ from the last ones. A list that cannot be read keeps its last items
   * while the backend answers. Rejects with `BackendError`.
   */
  async read(backend: string, channel: Channel, timeoutMs: number, options: AskOptions): Promise<boolean> {
    this.stale = false;
    const found = await discover(backend, channel, timeoutMs, options).catch((error: unknown) =>
      this.#unlessDown(error, backend, channel, timeoutMs, options),
    );
    const catalog = withLast(found, this.catalog);
    const isChanged = !isDeepStrictEqual(catalog, this.catalog);
    if (isChanged) this.catalog = catalog;
    this.channel = channel;
    this.refused = undefined;
    this.warnings = found.warnings;
    this.#unread = found.unread;
    this.stale ||= found.unread.size > 0;
    const hasNoTools = catalog.tools.length === 0 && declaredLists(catalog.capabilities).includes('tools');
    this.#attempts = found.unread.size > 0 || hasNoTools ? this.#attempts + 1 : 0;
    return isChanged;
  }

  /** Returns the last lists for a backend that refuses its lists and answers a ping. Throws `error` for any other backend. */
  async #unlessDown(
    error: unknown,
    backend: string,
    channel: Channel,
    timeoutMs: number,
    options: AskOptions,
  ): Promise<BackendDiscovery> {
    const { catalog } = this;
    if (options.signal.aborted || !(error instanceof BackendError) || OF_CHANNEL.has(error.failure.kind)) throw error;
    const cause = wordsOf(error.failure);
    const declared = declaredLists(channel.facts.capabilities);
    if (!catalog) {
      const [first = 'tools'] = declared;
      this.refused = error.failure.code === undefined ? undefined : listUnavailable(backend, first, cause);
      throw error;
    }
    await ask(channel, 'ping', undefined, timeoutMs, options).catch(() => {
      throw error;
    });
    return {
      catalog,
      warnings: declared.map((kind) => listUnavailable(backend, kind, cause)),
      unread: new Map(declared.map((kind) => [kind, cause])),
    };
  }
}

/** Capabilities whose lists can change. */
const LISTED = ['tools', 'resources', 'prompts'] as const;

/**
 * Returns true when the backend announces every change of its lists to this channel. A backend of an older revision without sessions
 * cannot: each request may reach another instance of it.
 */
export function announces({ facts: { capabilities, hasSession, revision }, hears }: Channel): boolean {
  if (hears === false || !(hasSession || revisionOf(revision).listens)) return false;
  return LISTED.every((list) => {
    const capability = capabilities[list];
    return capability === undefined || (isObject(capability) && capability['listChanged'] === true);
  });
}

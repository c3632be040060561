import { isDeepStrictEqual } from 'node:util';
import { durationMs } from '../../contract/fields.ts';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { aggregate } from '../aggregation/aggregate.ts';
import { hasDistinctPrefixes } from '../aggregation/tool-names.ts';
import type { AggregationResult, View } from '../aggregation/view.ts';
import type { Catalog } from '../aggregation/catalog.ts';
import { LONGEST_TIMER_MS } from '../clock.ts';
import type { CatalogSource } from '../backends/catalog-source.ts';
import type { ReadableView } from './readable-view.ts';
import type { Logger } from '../../contract/logger.ts';

export interface LiveViewOptions {
  readonly source: CatalogSource;
  readonly log: Logger;
  /** Clients see another view than before. */
  readonly onChange: () => void;
}

/** What the backends offer together, kept up to date with what they say and with the rules of the configuration. */
export class LiveView implements ReadableView {
  /** No two backends can claim one name. */
  hasDistinctPrefixes: boolean;
  readonly #options: LiveViewOptions;
  #changed: PromiseWithResolvers<undefined> | undefined;
  #config: GatewayConfig;
  #aggregation: AggregationResult;
  #problems: readonly { reason: string; message: string }[] = [];
  #stale = false;
  /** The configuration was changed under way, and its view has had conflicts since: the one before goes on. */
  #keepsLast = false;

  constructor(config: GatewayConfig, options: LiveViewOptions) {
    this.#config = config;
    this.#options = options;
    this.hasDistinctPrefixes = distinctPrefixes(config);
    this.#aggregation = aggregate([], config.vmcp.aggregation, namesOf(config));
  }

  /** Always that of what the backends have said so far. */
  get current(): View {
    this.#refresh();
    return this.#aggregation.view;
  }

  /** Conflicts and warnings of the last aggregation. */
  get problems(): readonly { reason: string; message: string }[] {
    return this.#problems;
  }

  /** Every backend has answered or was given the time to, so what the view lacks does not exist or is down. */
  get settled(): boolean {
    return this.#options.source.settled;
  }

  /** A name that is in the view leads where it will always lead: no backend that is yet to answer can claim it. */
  get certain(): boolean {
    return this.settled || this.hasDistinctPrefixes;
  }

  /** Resolves when `settled`, and after the default timeout anyway. */
  async whenSettled(): Promise<void> {
    const limitMs = durationMs(this.#config.vmcp.operational.timeouts.default);
    await this.#options.source.whenSettled(Math.min(limitMs, LONGEST_TIMER_MS));
  }

  nextChange(): Promise<void> {
    this.#changed ??= Promise.withResolvers<undefined>();
    return this.#changed.promise;
  }

  catalog(backend: string): Catalog | undefined {
    return this.#options.source.catalogs().find((catalog) => catalog.backend === backend);
  }

  /** Reads what is known by now, before anybody has seen this view: nobody is told. */
  load(): void {
    this.#stale = true;
    this.#refresh(false);
  }

  /** Takes other rules. Where they leave a conflict open, the view before goes on until it is settled. */
  swap(config: GatewayConfig): void {
    this.#config = config;
    this.hasDistinctPrefixes = distinctPrefixes(config);
    this.#keepsLast = true;
    this.invalidate();
  }

  /** The backends have said something: the view is made anew before it is read next, and soon. */
  invalidate(): void {
    if (this.#stale) return;
    this.#stale = true;
    setImmediate(() => {
      this.#refresh();
    });
  }

  #refresh(tells = true): void {
    if (!this.#stale) return;
    this.#stale = false;
    const { source, log, onChange } = this.#options;
    const next = aggregate(source.catalogs(), this.#config.vmcp.aggregation, source.unavailable());
    const problems = [...next.conflicts, ...next.warnings];
    if (!isDeepStrictEqual(problems, this.#problems)) {
      for (const { reason, message } of problems) log.warn('aggregation', { reason, problem: message });
    }
    this.#problems = problems;
    const hasConflicts = next.conflicts.length > 0;
    if (hasConflicts && this.#keepsLast && this.#aggregation.conflicts.length === 0) return;
    if (!hasConflicts) this.#keepsLast = false;
    this.#aggregation = next;
    this.#changed?.resolve(undefined);
    this.#changed = undefined;
    if (tells) onChange();
  }
}

const namesOf = ({ vmcp }: GatewayConfig): string[] => vmcp.backends.map(({ name }) => name);

const distinctPrefixes = (config: GatewayConfig): boolean =>
  hasDistinctPrefixes(config.vmcp.aggregation, namesOf(config));

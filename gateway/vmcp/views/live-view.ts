import { isDeepStrictEqual } from 'node:util';
import { durationMs } from '../../contract/fields.ts';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { aggregate } from '../aggregation/aggregate.ts';
import { hasDistinctPrefixes } from '../aggregation/tool-names.ts';
import type { AggregationResult, View } from '../aggregation/view.ts';
import type { Catalog } from '../aggregation/catalog.ts';
import { LONGEST_TIMER_MS } from '../../kit/time.ts';
import type { CatalogSource } from '../backends/catalog-source.ts';
import type { ReadableView } from './readable-view.ts';
import type { Logger } from '../../contract/logger.ts';

/** A conflict, a warning, or advice. */
export interface AggregationProblem {
  readonly reason: string;
  readonly message: string;
}

export interface LiveViewOptions {
  readonly source: CatalogSource;
  readonly log: Logger;
  /** Called when clients see another view than before. */
  readonly onChange: () => void;
  /** Returns the problems that this view shares with another view, which logs them. */
  readonly known?: () => readonly AggregationProblem[];
}

/** The aggregated view of the backends, updated with their catalogs and with the configuration. */
export class LiveView implements ReadableView {
  /** True when no two backends can use the same tool name. */
  hasDistinctPrefixes: boolean;
  readonly #options: LiveViewOptions;
  #changed: PromiseWithResolvers<undefined> | undefined;
  #config: GatewayConfig;
  #aggregation: AggregationResult;
  #problems: readonly AggregationProblem[] = [];
  #stale = false;
  #hasConflicts = false;
  /** True after a change of the configuration that caused conflicts: the previous view stays in use. */
  #keepsLast = false;

  constructor(config: GatewayConfig, options: LiveViewOptions) {
    this.#config = config;
    this.#options = options;
    this.hasDistinctPrefixes = distinctPrefixes(config);
    this.#aggregation = aggregate([], config.vmcp.aggregation, namesOf(config));
  }

  /** The view of all catalogs received so far. */
  get current(): View {
    this.#refresh();
    return this.#aggregation.view;
  }

  /** Conflicts, warnings and advice of the last aggregation. */
  get problems(): readonly AggregationProblem[] {
    return this.#problems;
  }

  /** True when the last aggregation had conflicts: its tools are not served. */
  get hasConflicts(): boolean {
    return this.#hasConflicts;
  }

  /**
   * True when every backend has answered or has used up the time for it: a missing item does not exist or is
   * unavailable.
   */
  get settled(): boolean {
    return this.#options.source.settled;
  }

  /** True when the routes in the view are final: no backend that is still to answer can claim a name. */
  get certain(): boolean {
    return this.settled || this.hasDistinctPrefixes;
  }

  /** Resolves when `settled`, and after the default timeout at the latest. */
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

  /** Aggregates the present catalogs without a notification, before the view is first used. */
  load(): void {
    this.#stale = true;
    this.#refresh(false);
  }

  /** Applies a new configuration. While it causes conflicts, the previous view stays in use. */
  swap(config: GatewayConfig): void {
    this.#config = config;
    this.hasDistinctPrefixes = distinctPrefixes(config);
    this.#keepsLast = true;
    this.invalidate();
  }

  /** Marks the view as outdated: it is aggregated again before its next use, and soon. */
  invalidate(): void {
    if (this.#stale) return;
    this.#stale = true;
    setImmediate(() => {
      this.#refresh();
    });
  }

  #refresh(notifies = true): void {
    if (!this.#stale) return;
    this.#stale = false;
    const { source, log, onChange } = this.#options;
    const next = aggregate(source.catalogs(), this.#config.vmcp.aggregation, source.unavailable());
    const problems = [...next.conflicts, ...next.warnings, ...next.advice];
    if (!isDeepStrictEqual(problems, this.#problems)) {
      const known = new Set([...this.#problems, ...(this.#options.known?.() ?? [])].map(({ message }) => message));
      for (const { reason, message } of problems) {
        if (known.has(message)) continue;
        if (reason === 'ToolsNotPortable') log.info('advice on the tools', { reason, advice: message });
        else log.warn('problem in the aggregation', { reason, problem: message });
      }
    }
    this.#problems = problems;
    const hasConflicts = next.conflicts.length > 0;
    this.#hasConflicts = hasConflicts;
    if (hasConflicts && this.#keepsLast && this.#aggregation.conflicts.length === 0) return;
    if (!hasConflicts) this.#keepsLast = false;
    this.#aggregation = next;
    this.#changed?.resolve(undefined);
    this.#changed = undefined;
    if (notifies) onChange();
  }
}

const namesOf = ({ vmcp }: GatewayConfig): string[] => vmcp.backends.map(({ name }) => name);

const distinctPrefixes = (config: GatewayConfig): boolean =>
  hasDistinctPrefixes(config.vmcp.aggregation, namesOf(config));

import type { Logger } from '../../contract/logger.ts';
import { readString } from '../../http/json-scan.ts';
import { memberOf, wholeOf } from '../../http/json-walk.ts';
import type { Repair } from '../aggregation/repair/list-items.ts';
import type { Warning } from '../aggregation/view.ts';
import { collectWarnings, quote } from '../aggregation/warnings.ts';

/** Most repairs that are logged and shown: a backend may serve any number of items. */
const MOST = 100;

/** Repairs of the replies of a backend. Each kind of repair is logged once for each item. */
export class RepairedReplies {
  readonly #backend: string;
  readonly #log: Logger;
  readonly #known = new Set<string>();
  readonly #warnings = collectWarnings();
  #problems: readonly Warning[] = [];

  constructor(backend: string, log: Logger) {
    this.#backend = backend;
    this.#log = log;
  }

  /** Warnings of all repairs so far. */
  get problems(): readonly Warning[] {
    return this.#problems;
  }

  /**
   * Records repairs of a reply. `name` is that of the item; a resource of a template has that of the template, which `item`, the JSON
   * text in the list, holds.
   */
  repaired(repairs: readonly Repair[], name: string, item: Buffer | undefined): void {
    const template = item && readString(item, memberOf(item, wholeOf(item), 'uriTemplate'));
    const shown = template ?? name;
    for (const { fault, outcome } of repairs) {
      const cause = `${JSON.stringify(fault.path)} of results of ${quote(this.#backend)} ${fault.words}${outcome}`;
      const key = `${cause} ${shown}`;
      if (this.#known.has(key) || this.#known.size >= MOST) continue;
      this.#known.add(key);
      this.#warnings.add('ResultRepaired', this.#backend, cause, shown);
      this.#problems = this.#warnings.list();
      const problem = `${cause}: ${quote(shown)}`;
      this.#log.warn('a result was repaired', { backend: this.#backend, reason: 'ResultRepaired', problem });
    }
  }
}

import type { Check } from '../result.ts';
import type { ServerEntry } from './registry.ts';

/** Row of a backend in `/status`. */
export interface BackendStatus {
  readonly name: string;
  readonly health: string;
  readonly reason?: string;
  readonly tools?: number;
}

/** Longest text of a cell of the table. */
const MAX_REASON = 240;

const shortened = (text: string): string => (text.length > MAX_REASON ? `${text.slice(0, MAX_REASON - 1)}…` : text);

/** Returns the check of a server that has settled: it runs, or its reason is the one of its README. */
export function verdictOf(
  { demands }: Pick<ServerEntry, 'demands'>,
  { health, reason = '', tools }: BackendStatus,
): Check {
  const runs = health === 'healthy' || health === 'degraded';
  if (runs) return { name: 'runs', outcome: 'passed', detail: `${health}, ${String(tools ?? 0)} tools` };
  const isDemanded = demands?.test(reason) === true;
  const says = shortened(`${health}: ${reason}`);
  if (isDemanded) return { name: 'says why it cannot run', outcome: 'passed', detail: says };
  const missing = demands === undefined ? '' : `; the reason must match ${demands.source}`;
  return { name: 'runs', outcome: 'failed', detail: `${says}${missing}` };
}

import type { Check } from '../result.ts';
import type { ServerEntry } from './registry.ts';

/** Row of a backend in `/status`. */
export interface BackendStatus {
  readonly name: string;
  readonly health: string;
  readonly reason?: string;
  readonly tools?: number;
}

/** Names of the checks of servers. */
export const RUNS = 'runs';
export const SAYS_WHY = 'says why it cannot run';
export const NAMES_FAULT = 'names its fault';

/** Longest text of a cell of the table. */
const MAX_REASON = 240;

const shortened = (text: string): string => (text.length > MAX_REASON ? `${text.slice(0, MAX_REASON - 1)}…` : text);

/** Returns the check of a server that has settled: it runs, or its reason is that of its README or its known fault. */
export function verdictOf(
  { demands, fault }: Pick<ServerEntry, 'demands' | 'fault'>,
  { health, reason = '', tools }: BackendStatus,
): Check {
  const runs = health === 'healthy' || health === 'degraded';
  if (runs) return { name: RUNS, outcome: 'passed', detail: `${health}, ${String(tools ?? 0)} tools` };
  const says = shortened(`${health}: ${reason}`);
  if (demands?.test(reason) === true) return { name: SAYS_WHY, outcome: 'passed', detail: says };
  if (fault?.test(reason) === true) return { name: NAMES_FAULT, outcome: 'passed', detail: says };
  const expected = [demands, fault].flatMap((pattern) => pattern?.source ?? []);
  const missing = expected.length === 0 ? '' : `; the reason must match ${expected.join(' or ')}`;
  return { name: RUNS, outcome: 'failed', detail: `${says}${missing}` };
}

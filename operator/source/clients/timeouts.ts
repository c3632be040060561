import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { quoted } from './texts.ts';

/** Members for the wait for a reply, with their unit in ms. */
const REPLY: Readonly<Record<string, number>> = {
  tool_timeout_sec: 1000,
  toolTimeoutMs: 1,
  toolTimeout: 1,
  request_timeout_ms: 1,
  requestTimeout: 1,
};
/** Members for the wait for the start. */
const START: Readonly<Record<string, number>> = {
  startup_timeout_sec: 1000,
  startup_timeout_ms: 1,
  startupTimeoutMs: 1,
  connectionTimeout: 1,
  connectTimeout: 1,
  initTimeout: 1,
};
/** Default of `config.operational.timeouts`, which also limits the start of a server. */
const DEFAULT_MS = 30_000;
/** Longest timer of Node.js in whole seconds. */
const MAX_MS = 2_147_483_000;

export const TIMEOUT_MEMBERS: readonly string[] = ['timeout', ...Object.keys(REPLY), ...Object.keys(START)];

interface Timeout {
  /** Longest wait for a reply; absent when the server sets no timeout. */
  readonly timeoutMs?: number;
  readonly warnings: readonly string[];
}

/** Reads the timeouts of a server. vmcp has a timeout for replies, which also limits the start. */
export function timeoutIn(value: JsonObject): Timeout {
  const warnings: string[] = [];
  const read = (name: string, member: unknown, unit: number): number[] => {
    if (member === undefined) return [];
    if (typeof member === 'number' && member > 0) return [Math.min(Math.ceil(member * unit), MAX_MS)];
    warnings.push(`its ${name} is left out: ${quoted(JSON.stringify(member))} is no time limit for vmcp`);
    return [];
  };
  const { timeout } = value;
  const nested = isObject(timeout) ? timeout : {};
  const general = isObject(timeout) ? undefined : timeout;
  const replies = [
    ...read('timeout', general, unitOf(general)),
    ...read('timeout.request', nested['request'], 1),
    ...Object.entries(REPLY).flatMap(([name, unit]) => read(name, value[name], unit)),
  ];
  const starts = [
    ...read('timeout.startup', nested['startup'], 1),
    ...Object.entries(START).flatMap(([name, unit]) => read(name, value[name], unit)),
  ];
  if (isUnclear(general)) {
    const [kept = 0] = replies;
    warnings.push(
      `its timeout ${String(general)} is read as ${durationOf(kept)}: correct it in ${PLACE} if it means another time`,
    );
  }
  const reply = replies.length > 0 ? Math.max(...replies) : undefined;
  const start = starts.length > 0 ? Math.max(...starts) : 0;
  if (start > (reply ?? DEFAULT_MS)) {
    warnings.push(
      `its limit for the start, ${durationOf(start)}, also limits its replies: vmcp has one limit for both, in ${PLACE}`,
    );
    return { timeoutMs: start, warnings };
  }
  return { ...(reply !== undefined && { timeoutMs: reply }), warnings };
}

const PLACE = 'config.operational.timeouts.perWorkload';

/**
 * Returns the unit of `timeout` in ms. Cline, Roo Code, Goose and Zed count seconds, with 3600 as the maximum of Roo Code;
 * Claude Code, Gemini CLI, opencode and most others count milliseconds.
 */
const unitOf = (timeout: unknown): number =>
  typeof timeout === 'number' && (timeout < 1000 || (timeout <= 3600 && timeout % 500 !== 0)) ? 1000 : 1;

const isUnclear = (timeout: unknown): boolean => typeof timeout === 'number' && timeout >= 1000 && timeout <= 3600;

/** Returns a duration as resources write it. */
export const durationOf = (ms: number): string => (ms % 1000 === 0 ? `${String(ms / 1000)}s` : `${String(ms)}ms`);

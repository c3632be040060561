import { createHash } from 'node:crypto';
import { sortKeys } from '../resolve/config-check.ts';
import { compareText } from '../resolve/snapshot.ts';

/** Members of a status that gateways write with their own field manager. */
export const GATEWAY_MEMBERS: readonly string[] = ['backendCount', 'discoveredBackends', 'runtimeProblems'];

/**
 * Number of pods that exist. It is written with other members, which change when pods become ready and when a rollout is
 * complete: while pods are only created, each of them would cause a write.
 */
const COUNT = 'replicas';

/** Returns true when writing `desired` would not change the members that the operator owns in the live status. */
export function sameStatus(live: unknown, desired: Readonly<Record<string, unknown>>): boolean {
  return JSON.stringify(canonical(live ?? {})) === JSON.stringify(canonical(desired));
}

function canonical(status: unknown): unknown {
  const entries = Object.entries(status as object)
    .filter(([member, value]) => value !== undefined && member !== COUNT && !GATEWAY_MEMBERS.includes(member))
    .map(([member, value]: [string, unknown]) => [member, member === 'conditions' ? byType(value) : value]);
  return sortKeys(Object.fromEntries(entries) as object);
}

const byType = (conditions: unknown): unknown =>
  Array.isArray(conditions)
    ? (conditions as { type: string }[]).toSorted((a, b) => compareText(a.type, b.type))
    : conditions;

/** Returns a digest of plain data that does not depend on the order of members. */
export const digest = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(sortKeys(value)))
    .digest('hex')
    .slice(0, 32);

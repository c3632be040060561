import type { BackendFailure } from '../channel.ts';

/** Statuses with which servers refuse the `Host` header of a request. */
const STATUSES: ReadonlySet<number> = new Set([400, 403, 421]);
/** Longest body that is read for the reason. */
export const REASON_BYTES = 4_096;

/**
 * Sentences of servers that protect themselves against DNS rebinding: "Invalid Host header: x", "Access is only allowed at
 * localhost:8931", "Blocked hosts: x", "This host is not allowed", "invalid HTTP_HOST header".
 */
const SENTENCES = [
  /\b(?:invalid|disallowed|blocked|untrusted|unknown|unexpected|forbidden|bad|unrecogni[sz]ed|unsupported|missing)\b[^.\n]{0,40}(?:\b|_)hosts?\b/iu,
  /(?:\b|_)hosts?\b[^\n]{0,300}\b(?:is not|not|isn't|are not) (?:in |an? |the )?(?:allow|permit|valid|trust|recogni|accept)/iu,
  /\bhosts?\b[^\n]{0,120}\b(?:invalid|disallowed|forbidden|blocked|mismatch)/iu,
  /\bonly (?:allowed|accessible|available|accepted|reachable) (?:at|from|via|on|through)\b/iu,
  /\bdns[ -]rebinding\b/iu,
];

/** Returns true for a reply that may be about the `Host` header: a short body says so. */
export const mayRefuseHost = (status: number, length: string | string[] | undefined): boolean =>
  STATUSES.has(status) && !(Number(length) > REASON_BYTES);

/** Returns the failure of a request that the backend refused because of its `Host` header; undefined for another reason. */
export function hostRefusal(status: number, body: string): BackendFailure | undefined {
  if (!STATUSES.has(status)) return undefined;
  const isNamed = SENTENCES.some((sentence) => sentence.test(body)) && !/\borigin\b/iu.test(body);
  if (status !== 421 && !isNamed) return undefined;
  return {
    kind: 'refused',
    status,
    detail: `HTTP ${String(status)}, because of the Host header`,
    cause: `it refuses the Host header of the gateway (HTTP ${String(status)}): set hostHeader to a host that it accepts, such as localhost:PORT`,
  };
}

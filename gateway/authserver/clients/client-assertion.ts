import { Secret } from '../../contract/identity.ts';
import { classify, decodeObject } from '../../incoming/tokens/classify.ts';
import { ALGORITHMS, verifySignature } from '../../incoming/tokens/jwt.ts';
import { TokenRefused } from '../../incoming/refusal.ts';
import {
  ASSERTION_SKEW_S,
  readAssertionClaims,
  type AssertionProblem,
} from '../core/token-endpoint/client-assertion.ts';
import { storageKeyOf } from '../core/opaque-token.ts';
import type { Locks } from '../storage/store.ts';
import type { ClientKeySource } from './client-keys.ts';
import type { Client } from '../storage/records.ts';
import type { JsonObject } from '../../contract/json.ts';

/** JWT by which a client authenticates, not yet verified. @see RFC 7523 §2.2 */
export interface PresentedAssertion {
  readonly token: Secret;
  readonly header: JsonObject;
  readonly claims: JsonObject;
}

interface AssertionDeps {
  readonly keys: ClientKeySource | undefined;
  /** Accepted audiences at the requested endpoint. */
  readonly audiences: readonly string[];
  readonly locks: Pick<Locks, 'acquire'>;
  /** ms since the epoch */
  readonly now: () => number;
}

export type AssertionRefusal = AssertionProblem | 'assertion_key' | 'assertion_signature' | 'assertion_replayed';

const MAX_LENGTH = 16 * 1024;

/** Reads a JWT without verifying it. Returns undefined for any other text and for an encrypted JWT. */
export function readAssertion(token: string): PresentedAssertion | undefined {
  if (token.length > MAX_LENGTH || token.split('.', 4).length !== 3) return undefined;
  const parts = classify(token);
  const claims = parts && decodeObject(parts.payload);
  return claims && { token: new Secret(token), header: parts.header, claims };
}

/**
 * Verifies an assertion of this client and marks it as used. Returns the reason when it is rejected. Keys are read last,
 * and only a valid signature marks the assertion, so that nobody else can use it up. Rejects with `ClientKeysUnavailable`
 * and `StoreUnavailable`.
 */
export async function assertionRefusal(
  { token, header, claims }: PresentedAssertion,
  { client_id: clientId, metadata }: Client,
  { keys, audiences, locks, now }: AssertionDeps,
): Promise<AssertionRefusal | undefined> {
  const { token_endpoint_auth_signing_alg: alg } = metadata;
  const algorithms = alg === undefined ? ALGORITHMS : [alg];
  const reading = readAssertionClaims(header, claims, { clientId, audiences, algorithms, now: now() });
  if (!reading.ok) return reading.problem;
  const refusal = keys ? await signatureRefusal(token, header, keys) : 'assertion_key';
  if (refusal !== undefined) return refusal;
  const { jti, exp } = reading.claims;
  // Keep the mark longer than `exp`: the clock of another replica may be behind this one.
  const keepMs = Math.ceil((exp + 2 * ASSERTION_SKEW_S) * 1_000 - now());
  const mark = `assertion:${storageKeyOf(`${clientId} ${jti}`)}`;
  return (await locks.acquire(mark, keepMs)) ? undefined : 'assertion_replayed';
}

async function signatureRefusal(
  token: Secret,
  header: JsonObject,
  keys: ClientKeySource,
): Promise<AssertionRefusal | undefined> {
  try {
    await verifySignature(token.reveal(), header, keys);
    return undefined;
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    return error.reason === 'kid' ? 'assertion_key' : 'assertion_signature';
  }
}

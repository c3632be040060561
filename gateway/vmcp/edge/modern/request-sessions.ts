import { createHash } from 'node:crypto';
import type { Identity } from '../../../contract/identity.ts';
import type { ClientFacts, Session, Sessions } from '../../session.ts';
import { ANYONE } from '../caller.ts';

/** Claims that differ between tokens of the same rights. */
const PER_TOKEN: ReadonlySet<string> = new Set(['exp', 'iat', 'nbf', 'jti', 'at_hash', 'auth_time', 'nonce', 'sid']);

/** Clients of one token for which the fast way is kept. */
const MOST_CLIENTS = 1_000;

/** Sessions that requests without one share: one per client, principal and rights. */
export class RequestSessions {
  readonly #sessions: Sessions;
  /** The fast way to `#byKey`. A verified token keeps its identity object for some time. */
  readonly #byIdentity = new WeakMap<object, Map<ClientFacts, Session>>();
  readonly #byKey = new Map<string, Session>();

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** Returns the session for a request. `facts` are the same object for the same client. */
  of(principal: string, identity: Identity | undefined, facts: ClientFacts): Session {
    const owner = identity ?? ANYONE;
    let known = this.#byIdentity.get(owner);
    if (!known) this.#byIdentity.set(owner, (known = new Map<ClientFacts, Session>()));
    let session = known.get(facts);
    if (!session || !this.#sessions.use(session)) {
      session = this.#find(principal, identity, facts);
      if (known.size >= MOST_CLIENTS) known.clear();
      known.set(facts, session);
    }
    session.identity = identity;
    return session;
  }

  #find(principal: string, identity: Identity | undefined, facts: ClientFacts): Session {
    const { name, version } = facts.client;
    const key = JSON.stringify([principal, rightsOf(identity), facts.capabilities, name, version]);
    const known = this.#byKey.get(key);
    if (known && this.#sessions.use(known)) return known;
    const session = this.#sessions.create(principal, facts);
    this.#byKey.set(key, session);
    this.#forgetEnded();
    return session;
  }

  #forgetEnded(): void {
    if (this.#byKey.size <= 2 * this.#sessions.hidden) return;
    for (const [key, { ended }] of this.#byKey) if (ended) this.#byKey.delete(key);
  }
}

/** Returns a digest of what policies and backends may read of an identity. */
export function rightsOf(identity: Identity | undefined): string {
  if (!identity) return '';
  const claims = Object.entries(identity.claims).filter(([name]) => !PER_TOKEN.has(name));
  const rights = [identity.clientId, identity.tsid, [...identity.scopes], claims];
  return createHash('sha256').update(JSON.stringify(rights)).digest('base64url');
}

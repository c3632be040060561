import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AuditEventType } from '../contract/run-config/audit.ts';
import type { Identity } from '../contract/identity.ts';
import { forwardedAddresses } from '../http/client-address.ts';
import type { ClientInfo, SessionFacts } from '../policy/policy.ts';
import { lineOf, type EventFacts, type Source, type WhoText, type Delegation, type Subjects } from './event.ts';
import type { AuditOutput, DropReason } from './output.ts';
import type { AuditSettings } from './settings.ts';
import { isObject } from '../contract/json.ts';

const ANONYMOUS_USER = 'anonymous';
/** Characters of one claim that are written. */
const MAX_CLAIM = 256;

/** User of an identity, and the actors on its behalf. */
interface Who {
  readonly subjects: Subjects;
  readonly delegation: Delegation | undefined;
}

const ANONYMOUS: Who = { subjects: { user: ANONYMOUS_USER }, delegation: undefined };

/** Renders a user for the lines of its events. */
const toText = ({ subjects, delegation }: Who): WhoText => ({
  subjects: JSON.stringify(subjects),
  delegation: delegation && JSON.stringify(delegation),
});

/** Describes the user of an identity; undefined is an anonymous user. */
export function whoIs(identity: Identity | undefined, maxDepth: number): Who {
  if (!identity) return ANONYMOUS;
  const { claims, subject, issuer } = identity;
  const named = ['name', 'preferred_username', 'email'].map((claim) => textOf(claims[claim]));
  const user = named.find((name) => name !== undefined) ?? ANONYMOUS_USER;
  return { subjects: { user, user_id: subject, issuer }, delegation: delegationOf(claims['act'], maxDepth) };
}

/** Adds the client's own name and version, as far as it sent them. */
const withClient = (subjects: Subjects, { name, version }: ClientInfo): Subjects =>
  name === '' && version === ''
    ? subjects
    : { ...subjects, ...(name !== '' && { client_name: name }), ...(version !== '' && { client_version: version }) };

/** Returns the chain of actors of an `act` claim, at most `maxDepth`. @see RFC 8693 section 4.1 */
export function delegationOf(act: unknown, maxDepth: number): Delegation | undefined {
  if (act === undefined) return undefined;
  const chain: { iss?: string; sub?: string }[] = [];
  let omitted = 0;
  let next: unknown = act;
  while (isObject(next)) {
    const [sub, iss] = [textOf(next['sub']), textOf(next['iss'])];
    if (sub === undefined) break;
    if (chain.length < maxDepth) chain.push({ ...(iss !== undefined && { iss }), sub });
    else omitted += 1;
    next = next['act'];
  }
  return {
    chain,
    ...(omitted > 0 && { truncated: true, omitted }),
    ...(next !== undefined && { malformed: true }),
  };
}

const textOf = (claim: unknown): string | undefined =>
  typeof claim === 'string' && claim !== '' ? claim.slice(0, MAX_CLAIM) : undefined;

export interface AuditLogDeps {
  /** ms since the epoch. */
  readonly now: () => number;
  readonly onDropped: (reason: DropReason) => void;
}

/** Stands for a user without identity. */
const ANYONE = {};
const UNKNOWN_CLIENT: ClientInfo = { name: '', version: '' };

/** Audit log of one virtual server. */
export class AuditLog {
  readonly settings: AuditSettings;
  readonly now: () => number;
  /** Returns the address of the client. */
  readonly addressOf: (req: IncomingMessage) => string;
  readonly output: AuditOutput;
  readonly #onDropped: AuditLogDeps['onDropped'];
  /** JSON text of the component. */
  readonly #component: string;
  /** By identity and client. */
  readonly #texts = new WeakMap<object, WeakMap<ClientInfo, WhoText>>();
  /** The latest second since the epoch and the start of its times: many events share it. */
  #second = 0;
  #start = '';

  constructor(settings: AuditSettings, output: AuditOutput, { now, onDropped }: AuditLogDeps) {
    this.settings = settings;
    this.now = now;
    this.addressOf = forwardedAddresses(settings.trustedProxies);
    this.output = output;
    this.#onDropped = onDropped;
    this.#component = JSON.stringify(settings.component);
  }

  takes(type: AuditEventType): boolean {
    return this.settings.types.has(type);
  }

  /** True while requests must be rejected, because their events could not be written. */
  get refusesRequests(): boolean {
    return this.settings.isStrict && this.output.isCongested;
  }

  write(facts: EventFacts): void {
    if (!this.takes(facts.type)) return;
    const frame = { time: this.#timeText(), id: randomUUID(), component: this.#component };
    const dropped = this.output.add(lineOf(frame, facts));
    if (dropped !== undefined) this.#onDropped(dropped);
  }

  /** Describes the user and the client of a request. */
  who(identity: Identity | undefined, client: ClientInfo = UNKNOWN_CLIENT): WhoText {
    const user = identity ?? ANYONE;
    let texts = this.#texts.get(user);
    if (!texts) this.#texts.set(user, (texts = new WeakMap<ClientInfo, WhoText>()));
    let who = texts.get(client);
    if (!who) {
      const { subjects, delegation } = whoIs(identity, this.settings.maxDelegationDepth);
      texts.set(client, (who = toText({ subjects: withClient(subjects, client), delegation })));
    }
    return who;
  }

  #timeText(): string {
    const ms = this.now();
    const second = Math.floor(ms / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#start = new Date(ms).toISOString().slice(0, -'000Z'.length);
    }
    return `${this.#start}${String(ms % 1_000).padStart(3, '0')}Z`;
  }
}

/** Source of events that no request causes. */
export const GATEWAY: Source = { type: 'internal', value: 'gateway' };

/** User that is known by its subject only. */
export const subjectOnly = (subject: string | undefined): WhoText =>
  toText({
    subjects: subject === undefined ? { user: ANONYMOUS_USER } : { user: subject, user_id: subject },
    delegation: undefined,
  });

/** Writes the event of a session that has ended. */
export function sessionEnded(
  log: AuditLog,
  session: SessionFacts & { readonly identity: Identity | undefined },
  reason: string,
): void {
  log.write({
    type: 'vmcp_session_terminated',
    outcome: 'success',
    source: { ...GATEWAY, extra: { session_id: session.id } },
    who: log.who(session.identity, session.client),
    target: { type: 'session' },
    extra: { reason, revision: session.revision },
  });
}

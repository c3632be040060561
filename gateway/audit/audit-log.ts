import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AuditEventType } from '../contract/run-config/audit.ts';
import type { Identity } from '../contract/identity.ts';
import { forwardedAddresses } from '../http/forwarded-address.ts';
import type { SessionFacts } from '../policy/policy.ts';
import {
  lineOf,
  type CapturedData,
  type Extra,
  type Outcome,
  type Source,
  type Subjects,
  type Target,
} from './event.ts';
import type { AuditOutput, DropReason } from './output.ts';
import type { AuditSettings } from './settings.ts';
import { whoIs, withClient, type Who } from './subjects.ts';

/** Facts of one event. */
export interface EventFacts {
  readonly type: AuditEventType;
  readonly outcome: Outcome;
  readonly source: Source;
  readonly who: Who;
  readonly target: Target;
  readonly extra: Extra;
  readonly data?: CapturedData | undefined;
}

export interface AuditLogDeps {
  /** ms since the epoch. */
  readonly now: () => number;
  readonly onDropped: (reason: DropReason) => void;
}

/** Audit log of one virtual server. */
export class AuditLog {
  readonly settings: AuditSettings;
  readonly now: () => number;
  /** Returns the address of the client. */
  readonly addressOf: (req: IncomingMessage) => string;
  readonly output: AuditOutput;
  readonly #onDropped: AuditLogDeps['onDropped'];
  readonly #users = new WeakMap<Identity, Who>();
  readonly #owners = new WeakMap<SessionFacts, { readonly identity: Identity | undefined; readonly who: Who }>();
  /** The latest ms and its text: many events have the same. */
  #ms = 0;
  #time = '';

  constructor(settings: AuditSettings, output: AuditOutput, { now, onDropped }: AuditLogDeps) {
    this.settings = settings;
    this.now = now;
    this.addressOf = forwardedAddresses(settings.trustedProxies);
    this.output = output;
    this.#onDropped = onDropped;
  }

  takes(type: AuditEventType): boolean {
    return this.settings.types.has(type);
  }

  /** True while requests must be rejected, because their events could not be written. */
  get refusesRequests(): boolean {
    return this.settings.isStrict && this.output.isCongested;
  }

  write({ type, outcome, source, who, target, extra, data }: EventFacts): void {
    if (!this.takes(type)) return;
    const time = this.#timeText();
    const { delegation } = who;
    const event = {
      time,
      level: 'AUDIT',
      msg: 'audit_event',
      audit_id: randomUUID(),
      type,
      logged_at: time,
      component: this.settings.component,
      outcome,
      source,
      subjects: who.subjects,
      target,
      metadata: { extra },
      ...(delegation && { delegation }),
    } as const;
    const dropped = this.output.add(lineOf(event, data));
    if (dropped !== undefined) this.#onDropped(dropped);
  }

  /** Describes the user of a request and the client of its session. */
  who(identity: Identity | undefined, session: SessionFacts | undefined): Who {
    if (!session) return this.#user(identity);
    const known = this.#owners.get(session);
    if (known && known.identity === identity) return known.who;
    const user = this.#user(identity);
    const who = { ...user, subjects: withClient(user.subjects, session.client) };
    this.#owners.set(session, { identity, who });
    return who;
  }

  #user(identity: Identity | undefined): Who {
    const known = identity && this.#users.get(identity);
    if (known) return known;
    const who = whoIs(identity, this.settings.maxDelegationDepth);
    if (identity) this.#users.set(identity, who);
    return who;
  }

  #timeText(): string {
    const ms = this.now();
    if (ms !== this.#ms) {
      this.#ms = ms;
      this.#time = new Date(ms).toISOString();
    }
    return this.#time;
  }
}

/** Source of events that no request causes. */
export const GATEWAY: Source = { type: 'internal', value: 'gateway' };

/** User that is known by its subject only. */
export const subjectOnly = (subject: string | undefined): Who => ({
  subjects: subject === undefined ? NOBODY : { user: subject, user_id: subject },
  delegation: undefined,
});

const NOBODY: Subjects = { user: 'anonymous' };

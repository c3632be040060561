import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AuditEventType } from '../contract/run-config/audit.ts';
import type { Identity } from '../contract/identity.ts';
import { forwardedAddresses } from '../http/forwarded-address.ts';
import type { SessionFacts } from '../policy/policy.ts';
import { lineOf, type EventFacts, type Source, type WhoText } from './event.ts';
import type { AuditOutput, DropReason } from './output.ts';
import type { AuditSettings } from './settings.ts';
import { ANONYMOUS_USER, toText, whoIs, withClient, type Who } from './subjects.ts';

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
  /** JSON text of the component. */
  readonly #component: string;
  readonly #users = new WeakMap<Identity, WhoText>();
  readonly #owners = new WeakMap<SessionFacts, { readonly identity: Identity | undefined; readonly who: WhoText }>();
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

  /** Describes the user of a request and the client of its session. */
  who(identity: Identity | undefined, session: SessionFacts | undefined): WhoText {
    if (!session) return this.#user(identity);
    const known = this.#owners.get(session);
    if (known && known.identity === identity) return known.who;
    const user = this.#describe(identity);
    const who = toText({ ...user, subjects: withClient(user.subjects, session.client) });
    this.#owners.set(session, { identity, who });
    return who;
  }

  #user(identity: Identity | undefined): WhoText {
    const known = identity && this.#users.get(identity);
    if (known) return known;
    const who = toText(this.#describe(identity));
    if (identity) this.#users.set(identity, who);
    return who;
  }

  #describe(identity: Identity | undefined): Who {
    return whoIs(identity, this.settings.maxDelegationDepth);
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

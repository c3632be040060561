import type { Session } from '../session.ts';
import type { Mailbox, Messages } from './messages.ts';
import { lostCall } from './stream-pipes.ts';

/** Interval at which the replicas with running calls are checked. */
const CHECK_EVERY_MS = 2_000;

/** Messages of one other replica for the client of a session. */
interface Incoming {
  readonly pipe: string;
  /** Number of the last message. */
  received: number;
  parts: Buffer[];
  /** JSON texts of the ids of the requests that run there. */
  readonly running: Set<string>;
}

/** Messages of other replicas for the clients of HTTP+SSE (2024-11-05) that are connected to this one. */
export class ConnectionInbox {
  readonly #mailbox: Mailbox;
  readonly #bySession = new Map<Session, Map<string, Incoming>>();
  readonly #timer: NodeJS.Timeout;
  #isChecking = false;

  constructor(mailbox: Mailbox) {
    this.#mailbox = mailbox;
    this.#timer = setInterval(() => {
      if (this.#isChecking) return;
      this.#isChecking = true;
      void this.#check().finally(() => {
        this.#isChecking = false;
      });
    }, CHECK_EVERY_MS).unref();
  }

  /** Writes a message on the stream of the client. Returns false when an earlier one is lost. */
  receive(session: Session, { pipe, number, ...fields }: Messages['carry'], body: Buffer, from: string): boolean {
    const incoming = this.#incoming(session, pipe, from);
    if (number !== incoming.received + 1) return false;
    incoming.received = number;
    if (fields.isPart) {
      incoming.parts.push(Buffer.from(body));
      return true;
    }
    if (fields.begins !== undefined) incoming.running.add(fields.begins);
    if (fields.ends !== undefined) incoming.running.delete(fields.ends);
    const message = Buffer.concat([...incoming.parts, body]);
    incoming.parts = [];
    if (message.length > 0) session.streams.main.send(message);
    return true;
  }

  /** Number of requests that run at other replicas. */
  get running(): number {
    let count = 0;
    for (const [session, all] of this.#bySession)
      for (const { running } of all.values()) count += session.ended ? 0 : running.size;
    return count;
  }

  /** Returns false when fewer than `sent` messages have arrived. */
  hasReceived(session: Session, pipe: string, sent: number, from: string): boolean {
    return sent === 0 || this.#incoming(session, pipe, from).received >= sent;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #incoming(session: Session, pipe: string, from: string): Incoming {
    const all = this.#bySession.get(session) ?? new Map<string, Incoming>();
    this.#bySession.set(session, all);
    const present = all.get(from);
    if (present?.pipe === pipe) return present;
    // the replica has released its copy of the session, and has another one now
    const incoming = { pipe, received: 0, parts: [], running: present?.running ?? new Set<string>() };
    all.set(from, incoming);
    return incoming;
  }

  /** Answers an error to each call whose replica has stopped. */
  async #check(): Promise<void> {
    const replicas = new Set<string>();
    for (const [session, all] of this.#bySession) {
      if (session.ended) this.#bySession.delete(session);
      else for (const [from, { running }] of all) if (running.size > 0) replicas.add(from);
    }
    for (const from of replicas) {
      if (await this.#mailbox.isRunning(from).catch(() => true)) continue;
      for (const [session, all] of this.#bySession) {
        for (const id of all.get(from)?.running ?? []) session.streams.main.send(lostCall(id));
        all.delete(from);
      }
    }
  }
}

import { methodOf } from '../../../contract/protocol/methods.ts';
import type { Response } from 'express';
import { auditOf } from '../../../audit/audited-request.ts';
import type { ClientEnvelope } from '../../../http/json-scan.ts';
import { addHeader } from '../../../http/head/added-headers.ts';
import { NOT_CACHED, type CacheHint } from '../../aggregation/cache-hint.ts';
import { Call } from '../../call.ts';
import type { HeldBytes } from '../../budgets/byte-budget.ts';
import { MODERN_REVISION } from '../../../contract/protocol/revisions.ts';
import { errorMessage } from '../../message.ts';
import type { Session } from '../../session.ts';
import type { VirtualServer } from '../../virtual-server.ts';
import { identify, identityOf, ownId, principalOf } from '../caller.ts';
import { recordMessage, serveRequest, type RequestEra } from '../dispatch.ts';
import { PostAnswer } from '../post-answer.ts';
import type { Classified, OlderHeader } from './classify.ts';
import { clientOf, senderOf } from './client-facts.ts';
import { modernMethods } from './methods.ts';
import { ModernAnswer, type ResultParts } from './modern-answer.ts';
import { readMeta } from './request-meta.ts';
import { RequestSessions } from './request-sessions.ts';
import { SuspendedCalls } from '../../calls/suspended-calls.ts';
import { ownSealKeys, type SealKeys } from '../../replicas/seal-keys.ts';
import type { Rounds, RoundsAnswer } from './rounds-answer.ts';
import { RequestStates } from './request-state.ts';
import { Stamp } from './stamp.ts';
import { TaskIds } from './tasks/task-ids.ts';

/** A message of the revision without sessions, or one that claims to be. */
type ModernMessage = Exclude<Classified, { readonly era: 'legacy' }>;

/** Serves `POST /mcp` for the revision without sessions. */
export class ModernPost {
  readonly #server: VirtualServer;
  readonly #resultParts: ResultParts;
  readonly #sessions: RequestSessions;
  readonly #era: RequestEra;
  readonly #warnedOf = new Set<string>();

  constructor(server: VirtualServer, version: string) {
    this.#server = server;
    this.#resultParts = {
      stamp: new Stamp(JSON.stringify({ name: 'vmcp', version })),
      hintOf: (method, session) => this.#hintOf(method, session),
      isAnyone: (session) => this.#isAnyone(session),
    };
    this.#sessions = new RequestSessions(server.sessions);
    this.#era = { methods: modernMethods(roundsOf(server)), traced: { revision: MODERN_REVISION } };
  }

  /** Answers one message. Throws `ScanError` before anything is sent. */
  serve(
    res: Response,
    body: Buffer,
    envelope: ClientEnvelope,
    message: ModernMessage,
    held: HeldBytes | undefined,
  ): void {
    const { id } = envelope;
    const audit = auditOf(res);
    addHeader(res, 'cache-control', 'private, no-store'); // the hint in a result is for clients, not for HTTP caches
    if (audit) {
      const meta = readMeta(body, envelope.surface);
      recordMessage(audit, body, envelope, senderOf(meta, res.req.headers['mcp-protocol-version']));
    }
    if (message.era === 'rejected') {
      const { code, message: reason, data } = message.rejection;
      send(res, 400, errorMessage(id ? body.subarray(id.start, id.end) : null, code, reason, data));
    } else if (id === undefined || message.meta === undefined) {
      res.writeHead(202, { 'content-length': 0 });
      res.end();
    } else {
      const { meta, olderHeader } = message;
      if (olderHeader) this.#warnOf(olderHeader);
      const identity = identityOf(res);
      const client = clientOf(meta);
      audit?.sentBy(client.facts); // the same object for each request of a client
      const session = this.#sessions.of(principalOf(res), identity, client.facts);
      identify(this.#server, session, identity);
      this.#listenToLogs(session, client.logLevel);
      const answer = this.#answer(res, envelope.method ?? '', ownId(body, id, held), session, client.logLevel);
      const call = new Call(session, answer, body, envelope, res.req.headers);
      call.identity = identity;
      call.held = held;
      call.audit = audit;
      call.client = client;
      const span = envelope.surface?.meta;
      call.edits = span && [{ span, text: meta.forBackend }];
      serveRequest(this.#server, call, this.#era);
    }
  }

  /** Warns once of each client whose version header contradicts its requests. */
  #warnOf({ client, version }: OlderHeader): void {
    if (this.#warnedOf.has(client)) return;
    this.#warnedOf.add(client);
    this.#server.log.warn('client sends a version header that is older than its requests: update the client', {
      client,
      header: version,
      revision: MODERN_REVISION,
    });
  }

  #answer(res: Response, method: string, id: Buffer, session: Session, logLevel: number): ModernAnswer {
    const out = new PostAnswer(res, id, session, this.#server.challenge);
    return new ModernAnswer(out, method, session, logLevel, this.#resultParts);
  }

  /** Returns how long the client may keep a result. Only what all users see is public. */
  #hintOf(method: string, session: Session): CacheHint {
    const kind = methodOf(method).list;
    if (kind === undefined) return NOT_CACHED;
    const hint = this.#server.views.listed(session).hints[kind];
    return this.#isAnyone(session) ? hint : { ...hint, cacheScope: 'private' };
  }

  /** Returns true for a client without identity where neither credentials of users nor policies decide. */
  #isAnyone(session: Session): boolean {
    const { fleet, calls } = this.#server;
    return session.identity === undefined && fleet.personal.length === 0 && calls.policies.length === 0;
  }

  /** Lets the backends send what a request asks for. Messages below its level are filtered on the way to it. */
  #listenToLogs(session: Session, level: number): void {
    if (level === -1 || (session.logLevel !== -1 && session.logLevel <= level)) return;
    this.#server.setLogLevel(session, level);
  }
}

function roundsOf(server: VirtualServer): Rounds {
  const own = ownSealKeys();
  const keys = (): SealKeys => server.replica?.keys ?? own;
  const secrets = (): readonly Buffer[] => keys().current;
  const suspended = new SuspendedCalls<RoundsAnswer>();
  server.onDrain(() => {
    if (!server.replica) suspended.clear(); // clients reach this process through other replicas
  });
  server.onReplica(({ calls }) => {
    calls.serve((handle) => suspended.take(handle));
  });
  const useOnce = () => server.replica?.useOnce.bind(server.replica);
  const states = new RequestStates({ now: server.now, secrets, useOnce });
  return { states, suspended, tasks: new TaskIds(secrets), keys, replica: () => server.replica?.name };
}

function send(res: Response, status: number, message: Buffer): void {
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': message.length });
  res.end(message);
}

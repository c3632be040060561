import { methodOf } from '../../contract/protocol/methods.ts';
import type { IncomingHttpHeaders } from 'node:http';
import type { AuditedRequest, MessageClient } from '../../audit/audited-request.ts';
import {
  paramsOf,
  readString,
  scanEnvelope,
  type ClientEnvelope,
  type Envelope,
  type ParamsSurface,
} from '../../http/json-scan.ts';
import { memberOf } from '../../http/json-walk.ts';
import { notifyPrivate } from '../backends/session-channels.ts';
import { CODE } from '../error-codes.ts';
import type { Call } from '../call.ts';
import type { TracedSession } from '../calls/trace-propagation.ts';
import { METHODS } from '../methods/index.ts';
import type { ObservedMethod } from '../methods/method.ts';
import { OTHER } from '../../telemetry/operation-series.ts';
import type { Session } from '../session.ts';
import type { Replica } from '../replicas/replica.ts';
import { replicaOfRequest } from '../replicas/replica-name.ts';
import { readOwnId } from '../server-requests.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { AuditedAnswer } from '../answers/audited-answer.ts';

/** Parts of the dispatch that depend on the era of a request. */
export interface RequestEra {
  readonly methods: ReadonlyMap<string, ObservedMethod>;
  /** Session that telemetry names. */
  readonly traced?: TracedSession;
}

const LEGACY: RequestEra = { methods: METHODS };

/** Serves a request of a session. Throws `ScanError` before anything is sent when `params` cannot be read. */
export function serveRequest(server: VirtualServer, call: Call, { methods, traced }: RequestEra = LEGACY): void {
  const { session, envelope, audit } = call;
  if (!session.isUsed) use(server, session);
  const answer = audit ? new AuditedAnswer(call.answer, audit) : call.answer;
  const method = methods.get(envelope.method ?? '');
  const name = method ? (envelope.method ?? OTHER) : OTHER;
  const observed = server.observe(answer, name, traced ?? session, call);
  if (!method) {
    observed.error(CODE.methodNotFound, 'method not found');
    return;
  }
  const params = paramsOf(envelope);
  if (call.client === undefined && params.requestState) {
    // a backend of the revision that has it could take it for one that the gateway has checked
    observed.error(CODE.invalidParams, 'the revision of this session has no "requestState": leave it out');
    return;
  }
  call.params = params;
  call.headers = passthrough(server, call.received);
  call.answer = observed;
  method(server, call, observed);
}

/** Records that a request uses the session: it then lasts longer. */
function use({ replica }: VirtualServer, session: Session): void {
  session.isUsed = true;
  if (session.shared) replica?.sessions.used(session);
}

/** Adds a message to the record of its request. */
export function recordMessage(
  audit: AuditedRequest | undefined,
  body: Buffer,
  { method, params, surface }: ClientEnvelope,
  from: MessageClient | undefined,
): void {
  audit?.read({
    method,
    name: surface && targetOf(body, method, surface),
    params: params && body.subarray(params.start, params.end),
    from,
  });
}

/** Returns the name or URI by which the method finds its item. */
function targetOf(body: Buffer, method: string | undefined, { name, uri, ref }: ParamsSurface): string | undefined {
  const { itemMember = 'uri' } = methodOf(method);
  if (itemMember === 'ref') {
    const type = readString(body, memberOf(body, ref, 'type'));
    return readString(body, memberOf(body, ref, type === 'ref/resource' ? 'uri' : 'name'));
  }
  return readString(body, itemMember === 'name' ? name : uri);
}

const ROOTS_CHANGED = 'notifications/roots/list_changed';

/**
 * Handles a message without a reply: a notification, or the response to a request of a backend. A promise waits for the
 * store that passes it on, and rejects with `KeyValueStoreUnavailable`.
 */
export function handleMessage(
  server: VirtualServer,
  session: Session,
  body: Buffer,
  envelope: Envelope,
): Promise<void> | undefined {
  if (envelope.method === ROOTS_CHANGED) {
    server.notifyBackends(session, body);
    return undefined;
  }
  if (handleHere(session, body, envelope)) return undefined;
  const passing = passOn(server, session, body, envelope);
  if (!passing && envelope.method === undefined) logUnknown(server, session, body, envelope);
  return passing;
}

/** Longest id of an answer that is logged. */
const LOGGED_ID_BYTES = 64;

/** Logs an answer with an unknown id: the client changes ids, or its answer is late. */
function logUnknown({ refusals }: VirtualServer, { client }: Session, body: Buffer, { id }: Envelope): void {
  refusals.write({
    kind: 'unknown_answer',
    level: 'warn',
    message: 'client answered a request with an id that no request has, or no longer has',
    facts: {
      client: client.name,
      version: client.version,
      id: id && body.toString('utf8', id.start, Math.min(id.end, id.start + LOGGED_ID_BYTES)),
    },
  });
}

/** Returns false when the call or the request that the message names is not in this process. */
function handleHere(session: Session, body: Buffer, envelope: Envelope): boolean {
  const { method } = envelope;
  if (method === undefined) return session.requests.answer(body, envelope);
  if (method === 'notifications/cancelled') return cancelCall(session, body, envelope);
  return method !== 'notifications/progress' || session.requests.progress(body, envelope);
}

/** Passes a message on to the other replicas that may have its call or request. Returns undefined when there are none. */
function passOn(
  server: VirtualServer,
  session: Session,
  body: Buffer,
  { method, id }: Envelope,
): Promise<void> | undefined {
  const { replica } = server;
  if (!session.shared || !replica) return undefined;
  if (method !== undefined) return replica.passOn(session, body, undefined);
  const ownId = readOwnId(body, id);
  const owner = ownId === undefined ? undefined : replicaOfRequest(ownId);
  return owner === undefined || owner === replica.name ? undefined : replica.passOn(session, body, owner);
}

/** Handles messages of clients that other replicas have passed on. */
export function handleElsewhere(server: VirtualServer, { mailbox }: Replica): void {
  mailbox.on('client', ({ session: id }, message) => {
    const session = server.sessions.known(id);
    const body = Buffer.from(message);
    if (!session) return;
    const envelope = scanEnvelope(body);
    if (envelope.method === ROOTS_CHANGED) notifyPrivate(session, body);
    else if (!handleHere(session, body, envelope) && envelope.method === undefined)
      logUnknown(server, session, body, envelope);
  });
}

/** Returns false when no call with this id runs here. */
function cancelCall(session: Session, body: Buffer, { params }: Envelope): boolean {
  const id = memberOf(body, params, 'requestId');
  if (!id) return true;
  const text = body.toString('latin1', id.start, id.end);
  const reason = readString(body, memberOf(body, params, 'reason')) ?? 'cancelled by the client';
  let isFound = false;
  for (const call of session.running) {
    if (call.id !== text) continue;
    isFound = true;
    call.cancel(reason.slice(0, 200));
  }
  return isFound;
}

function passthrough(server: VirtualServer, from: IncomingHttpHeaders): Readonly<Record<string, string>> | undefined {
  if (server.passthroughHeaders.length === 0) return undefined;
  const headers: Record<string, string> = {};
  for (const name of server.passthroughHeaders) {
    const value = from[name];
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}

import type { IncomingHttpHeaders } from 'node:http';
import type { AuditedRequest } from '../../audit/audited-request.ts';
import type { Identity } from '../../contract/identity.ts';
import { paramsOf, readString, type ClientEnvelope, type Envelope, type Span } from '../../http/json-scan.ts';
import { memberOf } from '../../http/json-walk.ts';
import type { HeldBytes } from '../budgets/byte-budget.ts';
import { CODE } from '../error-codes.ts';
import type { ClientRequest } from '../client-request.ts';
import type { TracedSession } from '../calls/trace-propagation.ts';
import { METHODS } from '../methods/index.ts';
import type { ObservedMethod } from '../methods/limited.ts';
import { OTHER } from '../../telemetry/operation-series.ts';
import type { Session } from '../session.ts';
import type { VirtualServer } from '../virtual-server.ts';
import type { Answer } from '../answers/answer.ts';
import { AuditedAnswer } from '../answers/audited-answer.ts';

/** Parts of the dispatch that depend on the era of a request. */
export interface RequestEra extends Pick<ClientRequest, 'edits' | 'client' | 'received'> {
  readonly methods: ReadonlyMap<string, ObservedMethod>;
  /** Session that telemetry names. */
  readonly traced?: TracedSession;
}

const LEGACY: RequestEra = { methods: METHODS };

/** Serves a request of a session. Throws `ScanError` before anything is sent when `params` cannot be read. */
export function serveRequest(
  server: VirtualServer,
  session: Session,
  identity: Identity | undefined,
  headers: IncomingHttpHeaders,
  body: Buffer,
  envelope: ClientEnvelope,
  given: Answer,
  held?: HeldBytes,
  audit?: AuditedRequest,
  { methods, edits, client, received, traced = session }: RequestEra = LEGACY,
): void {
  const answer = audit ? new AuditedAnswer(given, audit) : given;
  const method = methods.get(envelope.method ?? '');
  const name = method ? (envelope.method ?? OTHER) : OTHER;
  const observed = server.observe(answer, name, traced, body, envelope, headers);
  if (!method) {
    observed.error(CODE.methodNotFound, 'method not found');
    return;
  }
  const params = paramsOf(envelope);
  const sent = passthrough(server, headers);
  method(
    server,
    session,
    { body, envelope, params, identity, headers: sent, held, audit, edits, client, received },
    observed,
  );
}

/** Adds a message to the record of its request. */
export function recordMessage(
  audit: AuditedRequest | undefined,
  body: Buffer,
  { method, params, surface }: ClientEnvelope,
  session: Session | undefined,
): void {
  audit?.read({
    method,
    name: readString(body, surface?.name ?? surface?.uri) ?? referenceOf(body, surface?.ref),
    params: params && body.subarray(params.start, params.end),
    session,
  });
}

/** Returns the name or URI in the `ref` of a completion. */
const referenceOf = (body: Buffer, ref: Span | undefined): string | undefined =>
  readString(body, memberOf(body, ref, 'name') ?? memberOf(body, ref, 'uri'));

/** Handles a message without a reply: a notification, or the response to a request of a backend. */
export function handleMessage(server: VirtualServer, session: Session, body: Buffer, envelope: Envelope): void {
  const { method } = envelope;
  if (method === undefined) session.requests.answer(body, envelope);
  else if (method === 'notifications/cancelled') cancelCall(session, body, envelope);
  else if (method === 'notifications/progress') session.requests.progress(body, envelope);
  else if (method === 'notifications/roots/list_changed') server.notifyBackends(session, body);
}

function cancelCall(session: Session, body: Buffer, { params }: Envelope): void {
  const id = memberOf(body, params, 'requestId');
  if (!id) return;
  const text = body.toString('latin1', id.start, id.end);
  const reason = readString(body, memberOf(body, params, 'reason')) ?? 'cancelled by the client';
  for (const call of session.running) if (call.id === text) call.cancel(reason.slice(0, 200));
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

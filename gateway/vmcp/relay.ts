import { isObjectSpan, memberOf, splice, withMember } from '../http/json-walk.ts';
import { readString, scanBackendEnvelope, type Envelope } from '../http/json-scan.ts';

import type { Answer } from './answers/answer.ts';
import { errorMessage, resultMessage } from './message.ts';
import { CODE } from './error-codes.ts';
import { passesLogLevel } from './log-level.ts';
import { capabilityFor, missingFor, namesOf, type PausableCall } from './server-requests.ts';
import { remoteConnectionOf, type Session } from './session.ts';
import type { Channel } from './transport/channel.ts';

/** A message from a backend to one client, during a call or outside of calls. */
export interface BackendMessage {
  readonly session: Session;
  /** Name of the backend. */
  readonly backend: string;
  readonly channel: Channel;
  readonly message: Buffer;
  readonly envelope: Envelope;
  /** The call that the message belongs to, and its answer. */
  readonly call?: PausableCall;
  readonly answer?: Answer;
}

/**
 * Relays a backend's request or notification to the client. Every request of a backend gets a response. With `namesLoggers`
 * log messages name their backend.
 */
export function relay(from: BackendMessage, namesLoggers: boolean): void {
  if (from.envelope.method === undefined) return; // a response outside of its call: nobody waits for it
  if (from.envelope.id !== undefined) relayRequest(from);
  else if (from.envelope.method === 'notifications/cancelled') relayCancellation(from);
  else if (from.envelope.method === 'notifications/message') relayLog(from, namesLoggers);
  else relayNotification(from);
}

/**
 * Sends a message on the stream of the call, else on the client's GET stream, which buffers it while the client is
 * disconnected.
 */
function deliver({ session, answer, envelope }: BackendMessage, message: Buffer): void {
  if (answer) answer.message(message, envelope);
  else session.streams.main.send(message);
}

function relayRequest(from: BackendMessage): void {
  const { session, channel, message, envelope, call } = from;
  const { id, method = '', params } = envelope;
  if (id === undefined) return;
  const backendId = message.subarray(id.start, id.end);
  const capability = capabilityFor(method);
  if (capability === undefined) {
    answerUnroutable(channel, message, envelope);
    return;
  }
  const missing = missingFor(method, message, params, session);
  if (missing) {
    if (!session.offers.has(capability)) answerUnroutable(channel, message, envelope);
    else channel.send(errorMessage(backendId, CODE.invalidParams, `the client does not offer ${namesOf(missing)}`));
    from.answer?.lacks?.(missing);
    return;
  }
  const isReachable =
    from.answer !== undefined || session.streams.main.connected || remoteConnectionOf(session) !== undefined;
  const request = isReachable ? session.requests.forward(channel, message, envelope, call) : undefined;
  if (request) deliver(from, request);
  else channel.send(errorMessage(backendId, CODE.internal, 'the client cannot be reached: it has no stream open'));
}

/** Answers a request that no client can answer: `ping` with a result, other methods with an error. */
export function answerUnroutable(channel: Channel, message: Buffer, { id, method }: Envelope): void {
  if (id === undefined || method === undefined) return;
  const backendId = message.subarray(id.start, id.end);
  channel.send(
    method === 'ping'
      ? resultMessage(backendId, '{}')
      : errorMessage(backendId, CODE.methodNotFound, 'not offered here'),
  );
}

/** Relays the cancellation of a request, under the id that the client knows. */
function relayCancellation(from: BackendMessage): void {
  const { session, channel, message, envelope } = from;
  const id = memberOf(message, envelope.params, 'requestId');
  const ownId = id && session.requests.cancelled(channel, message.toString('utf8', id.start, id.end));
  if (id && ownId !== undefined) deliver(from, splice(message, { start: 0, end: message.length }, id, String(ownId)));
}

function relayNotification(from: BackendMessage): void {
  const { message, envelope } = from;
  if (envelope.method === 'notifications/tasks') return; // only streams of subscriptions/listen carry it
  if (envelope.method === 'notifications/resources/updated') relayUpdate(from);
  else deliver(from, message);
}

/** Relays a log message that the level of the session lets through. */
function relayLog(from: BackendMessage, namesLoggers: boolean): void {
  const { session, message, envelope } = from;
  if (!passesLogLevel(session.logLevel, message, envelope)) return;
  if (!namesLoggers) {
    deliver(from, message);
    return;
  }
  const named = withLogger(from);
  deliver({ ...from, envelope: scanBackendEnvelope(named) }, named);
}

/** Returns the message with the name of its backend before that of its logger: `files/cache`, or `files` for one without. */
function withLogger({ message, envelope: { params }, backend }: BackendMessage): Buffer {
  if (!params || !isObjectSpan(message, params)) return message;
  const given = readString(message, memberOf(message, params, 'logger'));
  const logger = given ? `${backend}/${given}` : backend;
  const named = withMember(message, params, 'logger', JSON.stringify(logger));
  return splice(message, { start: 0, end: message.length }, params, named);
}

/** Relays the update of a resource, under the URI that the client has subscribed to. */
function relayUpdate({ session, backend, message, envelope: { params } }: BackendMessage): void {
  const span = memberOf(message, params, 'uri');
  const name = readString(message, span);
  const uri = name === undefined ? undefined : session.subscriptions.uriOf(backend, name);
  if (!span || uri === undefined) return;
  const whole = { start: 0, end: message.length };
  const sent = uri === name ? message : splice(message, whole, span, JSON.stringify(uri));
  session.streams.main.send(sent);
  const sentParams = sent === message ? params : scanBackendEnvelope(sent).params;
  for (const listener of session.listeners ?? []) if (sentParams) listener.updated(uri, sent, sentParams);
}

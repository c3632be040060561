import { memberOf, splice } from '../http/json-walk.ts';
import { readString, type Envelope } from '../http/json-scan.ts';

import type { Answer } from './edge/answer.ts';
import { errorMessage, resultMessage } from './message.ts';
import { CODE } from './error-codes.ts';
import { passesLogLevel } from './log-level.ts';
import { capabilityFor, type HeldCall } from './server-requests.ts';
import type { Session } from './session.ts';
import type { Channel } from './transport/channel.ts';

/** A message of a backend for one client: in the middle of a call, or on its own. */
export interface BackendMessage {
  readonly session: Session;
  readonly channel: Channel;
  readonly message: Buffer;
  readonly envelope: Envelope;
  /** The call of the client that it belongs to, and where that is answered. */
  readonly call?: HeldCall;
  readonly answer?: Answer;
}

/** Brings a backend's message to the client, and sees that every request of a backend is answered by somebody. */
export function relay(from: BackendMessage): void {
  if (from.envelope.id !== undefined) relayRequest(from);
  else if (from.envelope.method === 'notifications/cancelled') relayCancellation(from);
  else relayNotification(from);
}

/** Onto the stream of the call's reply, else onto the client's GET stream, which keeps it when the client is just away. */
function deliver({ session, answer, envelope }: BackendMessage, message: Buffer): void {
  if (answer) answer.message(message, envelope);
  else session.streams.main.send(message);
}

function relayRequest(from: BackendMessage): void {
  const { session, channel, message, envelope, call } = from;
  const { id, method = '' } = envelope;
  if (id === undefined) return;
  const backendId = message.subarray(id.start, id.end);
  const capability = capabilityFor(method);
  if (capability === undefined || !session.offers.has(capability)) {
    answerForNobody(channel, message, envelope);
    return;
  }
  const isReachable = from.answer !== undefined || session.streams.main.connected;
  const request = isReachable ? session.requests.forward(channel, message, envelope, call) : undefined;
  if (request) deliver(from, request);
  else channel.send(errorMessage(backendId, CODE.internal, 'the client cannot be reached: it has no stream open'));
}

/** A request of a backend that no client is asked: `ping` is answered, everything else is not offered. */
export function answerForNobody(channel: Channel, message: Buffer, { id, method }: Envelope): void {
  if (id === undefined) return;
  const backendId = message.subarray(id.start, id.end);
  channel.send(
    method === 'ping'
      ? resultMessage(backendId, '{}')
      : errorMessage(backendId, CODE.methodNotFound, 'not offered here'),
  );
}

/** The backend takes a request back: the client knows it under an id of ours. */
function relayCancellation(from: BackendMessage): void {
  const { session, channel, message, envelope } = from;
  const id = memberOf(message, envelope.params, 'requestId');
  const ownId = id && session.requests.cancelled(channel, message.toString('utf8', id.start, id.end));
  if (id && ownId !== undefined) deliver(from, splice(message, { start: 0, end: message.length }, id, ownId));
}

function relayNotification(from: BackendMessage): void {
  const { session, message, envelope } = from;
  if (envelope.method === 'notifications/message' && !passesLogLevel(session.logLevel, message, envelope)) return;
  if (envelope.method === 'notifications/resources/updated') {
    const uri = readString(message, memberOf(message, envelope.params, 'uri'));
    if (uri !== undefined && session.subscriptions.has(uri)) session.streams.main.send(message);
    return;
  }
  deliver(from, message);
}

import { memberOf, splice, type Span } from '../http/json-walk.ts';
import type { Envelope } from '../http/json-scan.ts';
import type { Channel } from './transport/channel.ts';

/** Requests of a backend that a client may answer, and the capability with which the client says so. */
const CAPABILITIES: ReadonlyMap<string, string> = new Map([
  ['elicitation/create', 'elicitation'],
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
]);

/** A call of the client in whose middle the backend asks: its time does not run while the client is asked. */
export interface HeldCall {
  hold(): void;
  proceed(): void;
}

interface Waiting {
  readonly channel: Channel;
  /** JSON text of the backend's own id. */
  readonly backendId: string;
  /** JSON text of the progress token that the backend put into its request. */
  readonly progressToken: string | undefined;
  /** Undefined when none is held, or it has ended. */
  call: HeldCall | undefined;
}

const MOST_WAITING = 100;
/** Bytes of an id or a progress token of a backend, which are kept until the client answers. */
const LONGEST_KEPT = 1_024;

/** The requests of backends that one client session was sent and has not answered yet. */
export class ServerRequests {
  readonly #waiting = new Map<string, Waiting>();
  #last = 0;

  /** The backend's request with an id of ours, for the client; undefined when too many wait or its id is very long. */
  forward(channel: Channel, message: Buffer, envelope: Envelope, call: HeldCall | undefined): Buffer | undefined {
    const { id } = envelope;
    if (id === undefined || (this.#waiting.size >= MOST_WAITING && !this.#makeRoom())) return undefined;
    const backendId = message.toString('utf8', id.start, id.end);
    const progressToken = requestToken(message, envelope);
    if (backendId.length > LONGEST_KEPT || (progressToken?.length ?? 0) > LONGEST_KEPT) return undefined;
    this.#last += 1;
    const ownId = `"vmcp-${String(this.#last)}"`;
    this.#waiting.set(ownId, { channel, backendId, progressToken, call });
    call?.hold();
    return splice(message, { start: 0, end: message.length }, id, ownId);
  }

  /** Passes the client's response on to the backend that asked; false when nobody asked. */
  answer(body: Buffer, { id }: Envelope): boolean {
    const ownId = id && body.toString('utf8', id.start, id.end);
    const waiting = ownId === undefined ? undefined : this.#waiting.get(ownId);
    if (ownId === undefined || id === undefined || waiting === undefined) return false;
    this.#waiting.delete(ownId);
    waiting.call?.proceed();
    waiting.channel.send(splice(body, { start: 0, end: body.length }, id, waiting.backendId));
    return true;
  }

  /** Passes the client's progress on to the backend whose request it is about. */
  progress(body: Buffer, { params }: Envelope): void {
    const token = memberText(body, params, 'progressToken');
    if (token === undefined) return;
    for (const { channel, progressToken } of this.#waiting.values()) if (progressToken === token) channel.send(body);
  }

  /** The call has ended. What was asked in its middle may still be answered: a backend may ask beside its calls. */
  release(call: HeldCall): void {
    if (this.#waiting.size === 0) return;
    for (const waiting of this.#waiting.values()) if (waiting.call === call) waiting.call = undefined;
  }

  /** Drops the oldest request that holds no call; false when each holds one. */
  #makeRoom(): boolean {
    for (const [ownId, { call }] of this.#waiting) if (call === undefined) return this.#waiting.delete(ownId);
    return false;
  }

  /** The backend does not wait any more: the id of ours under which the client knows the request. */
  cancelled(channel: Channel, backendId: string): string | undefined {
    for (const [ownId, waiting] of this.#waiting) {
      if (waiting.channel !== channel || waiting.backendId !== backendId) continue;
      this.#waiting.delete(ownId);
      waiting.call?.proceed();
      return ownId;
    }
    return undefined;
  }
}

function requestToken(message: Buffer, { params }: Envelope): string | undefined {
  return memberText(message, memberOf(message, params, '_meta'), 'progressToken');
}

function memberText(text: Buffer, object: Span | undefined, key: string): string | undefined {
  const member = memberOf(text, object, key);
  return member && text.toString('utf8', member.start, member.end);
}

/** The capability that a client must have declared for a backend's request to reach it; undefined: nobody answers that. */
export const capabilityFor = (method: string): string | undefined => CAPABILITIES.get(method);

/** Capabilities of a client that backends are told of: those whose requests can be forwarded to it. */
export const RELAYED_CAPABILITIES: readonly string[] = [...CAPABILITIES.values()];

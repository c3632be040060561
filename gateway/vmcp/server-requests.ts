import { isObject } from '../contract/json.ts';
import { memberOf, splice, type Span } from '../http/json-walk.ts';
import { readString, type Envelope } from '../http/json-scan.ts';
import { edited, type Edit } from './aggregation/forward-params.ts';
import { requestIdOf } from './replicas/replica-name.ts';
import type { Channel } from './transport/channel.ts';
import { withOwnToken } from './transport/progress-token.ts';

/** Requests that a client may answer, by method, with the capability that the client declares for each. */
const CAPABILITIES: ReadonlyMap<string, string> = new Map([
  ['elicitation/create', 'elicitation'],
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
]);

/** A call during which the backend sends requests. Its timeout is paused while the client answers one. */
export interface PausableCall {
  pauseTimeout(): void;
  restartTimeout(): void;
}

interface Waiting {
  readonly channel: Channel;
  /** JSON text of the backend's id. */
  readonly backendId: string;
  /** JSON text of the progress token in the backend's request. */
  readonly progressToken: Buffer | undefined;
  /** Undefined when the request belongs to no running call. */
  call: PausableCall | undefined;
}

const MAX_WAITING = 100;
/** Longest id or progress token of a backend in bytes. Both are stored until the client answers. */
const MAX_ID_BYTES = 1_024;

/** Id of the gateway, also as the text into which some clients turn numbers. */
const OWN_ID = /^"?([0-9]{1,16})"?$/u;
const MAX_OWN_ID_BYTES = 18;

/** Returns the id of the gateway in a message of a client; undefined for any other id. */
export function readOwnId(body: Buffer, span: Span | undefined): number | undefined {
  if (!span || span.end - span.start > MAX_OWN_ID_BYTES) return undefined;
  const digits = OWN_ID.exec(body.toString('latin1', span.start, span.end))?.[1];
  const id = Number(digits);
  return digits !== undefined && Number.isSafeInteger(id) ? id : undefined;
}

/** Requests of backends that one session has received and not answered yet. */
export class ServerRequests {
  readonly #waiting = new Map<number, Waiting>();
  readonly #replica: string | undefined;
  #last = 0;

  /** `replica` is a part of the ids, so that the response of a client finds the replica with the request. */
  constructor(replica?: string) {
    this.#replica = replica;
  }

  /**
   * Returns the backend's request with an id of the gateway, also as its progress token: those of two backends may be equal.
   * Undefined when too many requests wait, or the backend's id or token is too long.
   * @see MCP 2025-11-25, basic/utilities/progress, Progress Flow
   */
  forward(channel: Channel, message: Buffer, envelope: Envelope, call: PausableCall | undefined): Buffer | undefined {
    const { id, params } = envelope;
    if (id === undefined || (this.#waiting.size >= MAX_WAITING && !this.#makeRoom())) return undefined;
    const backendId = message.toString('utf8', id.start, id.end);
    const ownId = requestIdOf(this.#replica, this.#last + 1);
    const owned = params && withOwnToken(message.subarray(params.start, params.end), ownId);
    const progressToken = owned?.givenToken;
    if (backendId.length > MAX_ID_BYTES || (progressToken?.length ?? 0) > MAX_ID_BYTES) return undefined;
    this.#last += 1;
    this.#waiting.set(ownId, { channel, backendId, progressToken, call });
    call?.pauseTimeout();
    const edits: Edit[] = [{ span: id, text: String(ownId) }];
    if (params && owned?.givenToken) edits.push({ span: params, text: owned.params });
    return edited(message, { start: 0, end: message.length }, edits);
  }

  /** Sends the client's response to the backend. Returns false when the id is unknown. */
  answer(body: Buffer, { id }: Envelope): boolean {
    const ownId = readOwnId(body, id);
    const waiting = ownId === undefined ? undefined : this.#waiting.get(ownId);
    if (ownId === undefined || id === undefined || waiting === undefined) return false;
    this.#waiting.delete(ownId);
    waiting.call?.restartTimeout();
    waiting.channel.send(splice(body, { start: 0, end: body.length }, id, waiting.backendId));
    return true;
  }

  /** Sends the client's progress notification to the backend whose request it names. Returns false without one. */
  progress(body: Buffer, { params }: Envelope): boolean {
    const token = memberOf(body, params, 'progressToken');
    const ownId = readOwnId(body, token);
    const waiting = ownId === undefined ? undefined : this.#waiting.get(ownId);
    if (!token || !waiting?.progressToken) return false;
    waiting.channel.send(splice(body, { start: 0, end: body.length }, token, waiting.progressToken));
    return true;
  }

  /**
   * Detaches a call that has ended. Its requests may still be answered: a backend may send requests outside of calls.
   */
  release(call: PausableCall): void {
    if (this.#waiting.size === 0) return;
    for (const waiting of this.#waiting.values()) if (waiting.call === call) waiting.call = undefined;
  }

  /** Drops the oldest request that belongs to no call. Returns false when every request belongs to one. */
  #makeRoom(): boolean {
    for (const [ownId, { call }] of this.#waiting) if (call === undefined) return this.#waiting.delete(ownId);
    return false;
  }

  /** Forgets a request that the backend cancelled. Returns the gateway's id of it. */
  cancelled(channel: Channel, backendId: string): number | undefined {
    for (const [ownId, waiting] of this.#waiting) {
      if (waiting.channel !== channel || waiting.backendId !== backendId) continue;
      this.#waiting.delete(ownId);
      waiting.call?.restartTimeout();
      return ownId;
    }
    return undefined;
  }
}

/**
 * Returns the capability that a client must declare to receive requests of this method; undefined: no client can
 * answer.
 */
export const capabilityFor = (method: string): string | undefined => CAPABILITIES.get(method);

/** Client capabilities, as a client declares them. */
export type Capabilities = Readonly<Record<string, object>>;

/** Capabilities of one client: their names, and their JSON text. */
interface Declared {
  readonly offers: ReadonlySet<string>;
  readonly capabilities: string;
}

/**
 * Returns the capabilities that a client has to declare in addition to be asked this; undefined when it may be asked.
 * `params` is a span of `text`. @see MCP 2026-07-28, client/elicitation and client/sampling, Capabilities
 */
export function missingFor(
  method: string,
  text: Buffer,
  params: Span | undefined,
  { offers, capabilities }: Declared,
): Capabilities | undefined {
  const name = capabilityFor(method);
  if (name === undefined) return undefined;
  const feature = featureOf(name, text, params);
  if (!offers.has(name)) return { [name]: feature === undefined || feature === 'form' ? {} : { [feature]: {} } };
  if (feature === undefined) return undefined;
  const declared = (JSON.parse(capabilities) as Readonly<Record<string, unknown>>)[name];
  const has = (each: string): boolean => isObject(declared) && Object.hasOwn(declared, each);
  // a client that names no mode has the form
  return has(feature) || (feature === 'form' && !has('url')) ? undefined : { [name]: { [feature]: {} } };
}

/** Returns the part of a capability that a question needs. */
function featureOf(capability: string, text: Buffer, params: Span | undefined): string | undefined {
  if (capability === 'elicitation') return readString(text, memberOf(text, params, 'mode')) === 'url' ? 'url' : 'form';
  const hasTools = ['tools', 'toolChoice'].some((name) => memberOf(text, params, name) !== undefined);
  return capability === 'sampling' && hasTools ? 'tools' : undefined;
}

/** Returns the names of capabilities for a message: `elicitation.url`. */
export const namesOf = (capabilities: Capabilities): string =>
  Object.entries(capabilities)
    .map(([name, features]) => [name, ...Object.keys(features)].join('.'))
    .join(', ');

/** Client capabilities that the gateway declares to backends: those whose requests it forwards. */
export const RELAYED_CAPABILITIES: readonly string[] = [...CAPABILITIES.values()];

import type { IncomingMessage, ServerResponse } from 'node:http';
import { addressKey } from '../client-address.ts';
import type { Socket } from 'node:net';

export const CONNECTION: unique symbol = Symbol('connection');

/** One connection of a client. */
export interface ClientConnection {
  readonly socket: Socket;
  /** Address of the peer. */
  readonly address: string;
  /** Time at which it was accepted, its latest request arrived, or its latest response ended. */
  since: number;
  /** True after its first request. */
  isUsed: boolean;
  /** Response of the latest request, until it ends. */
  res: ServerResponse | undefined;
  /** Bytes that were read when the previous response ended. */
  readBefore: number;
  /** True once the body of the latest request is complete, or a budget counts it. */
  isCounted: boolean;
  /** Length of the body of the latest request; 0 for a body that is not read. */
  bodyBytes: number;
}

export const connectionOf = (socket: Socket): ClientConnection =>
  (socket as unknown as { readonly [CONNECTION]: ClientConnection })[CONNECTION];

/** Marks the body of a request as complete or as counted by a budget: its connection is not closed for the memory that it takes. */
export function markCounted({ socket }: IncomingMessage, bodyBytes: number): void {
  const connection = (socket as { readonly [CONNECTION]?: ClientConnection })[CONNECTION];
  if (!connection) return;
  connection.isCounted = true;
  connection.bodyBytes = bodyBytes;
}

/** Time after which a client that does nothing may lose its connection. */
const IDLE_MS = 1_000;
const SEARCH_EVERY_MS = 250;
/** Share of the connections with which one address loses streams to clients of other addresses. */
const STREAM_SHARE = 1 / 2;

/** Returns the address of the client of a request, behind trusted proxies that of `X-Forwarded-For`. */
export type AddressReader = (req: IncomingMessage) => string;

interface Found {
  readonly connection: ClientConnection;
  readonly address: string;
}

/**
 * Connections that may be closed for a new client. First those whose clients do nothing: they are idle, or the rest of a request does
 * not arrive. Of the address with the most such connections first, and there the longest idle. Then streams of an address that holds
 * more than half of all connections with them, for clients of other addresses: their clients resume them.
 */
export class ClosableConnections {
  readonly #used: ReadonlySet<ClientConnection>;
  readonly #most: number;
  readonly #addresses: () => AddressReader;
  /** The next ones are at the end. */
  #idle: ClientConnection[] = [];
  #streams: Found[] = [];
  #addressOf: AddressReader;
  #searchAt = 0;

  constructor(used: ReadonlySet<ClientConnection>, most: number, addresses: () => AddressReader) {
    this.#used = used;
    this.#most = most;
    this.#addresses = addresses;
    this.#addressOf = addresses();
  }

  /** Returns the next connection to close for the client of this request; undefined when there is none. */
  take(req: IncomingMessage): ClientConnection | undefined {
    const found = this.#next(req);
    const now = performance.now();
    if (found || now < this.#searchAt) return found;
    this.#searchAt = now + SEARCH_EVERY_MS;
    this.#search(now);
    return this.#next(req);
  }

  #next(req: IncomingMessage): ClientConnection | undefined {
    const now = performance.now();
    for (let next = this.#idle.pop(); next; next = this.#idle.pop()) if (isIdle(next, now)) return next;
    if (this.#streams.length === 0 || this.#streams[0]?.address === this.#networkOf(req)) return undefined;
    for (let next = this.#streams.pop(); next; next = this.#streams.pop()) {
      if (isStream(next.connection)) return next.connection;
    }
    return undefined;
  }

  #networkOf(req: IncomingMessage): string {
    return networkOf(this.#addressOf(req));
  }

  #search(now: number): void {
    this.#addressOf = this.#addresses(); // the proxies may have changed
    const idle: Found[] = [];
    const streams: Found[] = [];
    for (const connection of this.#used) {
      if (isIdle(connection, now)) idle.push({ connection, address: connection.address });
      else if (isStream(connection)) streams.push({ connection, address: this.#networkOf(connection.res.req) });
    }
    this.#idle = sorted(idle).map(({ connection }) => connection);
    const share = Math.floor(this.#most * STREAM_SHARE);
    const largest = streams.length > share ? sorted(streams) : [];
    const address = largest.at(-1)?.address;
    this.#streams = largest.filter((one) => one.address === address).slice(share);
  }
}

/** Returns the address of IPv4, or the network of IPv6, all of which one client may use. */
export const networkOf = (address: string): string => (address.includes(':') ? addressKey(address) : address);

/** Returns true for a connection without a request, or with an incomplete one, for a while. */
const isIdle = ({ res, since, socket }: ClientConnection, now: number): boolean =>
  !socket.destroyed && now - since >= IDLE_MS && res?.req.complete !== true;

const isStream = (
  connection: ClientConnection,
): connection is ClientConnection & { readonly res: NonNullable<ClientConnection['res']> } =>
  !connection.socket.destroyed && connection.res?.headersSent === true;

/** Sorts by the number of connections of the address, then by age: the oldest of the address with the most is the last. */
function sorted(found: readonly Found[]): Found[] {
  const counts = new Map<string, number>();
  for (const { address } of found) counts.set(address, (counts.get(address) ?? 0) + 1);
  const countOf = ({ address }: Found): number => counts.get(address) ?? 0;
  return found.toSorted((a, b) => countOf(a) - countOf(b) || b.connection.since - a.connection.since);
}

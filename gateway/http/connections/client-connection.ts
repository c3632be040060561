import type { IncomingMessage, ServerResponse } from 'node:http';
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
  /** Length of the body of the latest request; 0 for one that is not read. */
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

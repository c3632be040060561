import type { ServerResponse } from 'node:http';
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
}

export const connectionOf = (socket: Socket): ClientConnection =>
  (socket as unknown as { readonly [CONNECTION]: ClientConnection })[CONNECTION];

import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { ACCEPTED, EMPTY_FILE, MAX_CONNECTIONS, SOCKET_NAMES } from './program.ts';

/** Sockets between vmcp and the relay of one isolated container, in a folder that is mounted into the relay only. */
export interface RelaySockets {
  /** Resolves when the relay runs. */
  readonly ready: Promise<void>;
  /** Resolves when the relay has ended. */
  readonly lost: Promise<void>;
  /**
   * Connects to a port in the isolated network. Rejects when nothing listens there, and with `ConnectionLimitError` while
   * `MAX_CONNECTIONS` are open.
   */
  connect(port: number): Promise<Socket>;
  close(): void;
}

/** The server has as many connections as vmcp opens to it. */
export class ConnectionLimitError extends Error {
  override readonly name = 'ConnectionLimitError';
}

const ANSWER_TIMEOUT_MS = 15_000;
/** Connections that wait for a port. The relay keeps one; more can only come from another program in its place. */
const MAX_IDLE = 4;

/** Listens in `dir`, which must not exist. Its parent must be private, because every user may connect to the sockets. */
export async function openRelaySockets(dir: string, egress?: Server): Promise<RelaySockets> {
  mkdirSync(dir);
  chmodSync(dir, 0o755); // the relay can run as another user of this machine (userns-remap)
  writeFileSync(join(dir, EMPTY_FILE), '', { mode: 0o444 });
  const idle = createIdle();
  const inbound = createServer({ allowHalfOpen: true }, idle.add);
  const folder = openSync(dir, 'r');
  const tunnels = new Set<Socket>();
  egress?.on('connection', (socket: Socket) => {
    tunnels.add(socket);
    socket.once('close', () => tunnels.delete(socket));
  });
  const close = (): void => {
    inbound.close();
    egress?.close();
    for (const tunnel of tunnels) tunnel.destroy();
    idle.close();
  };
  try {
    if (egress) await listen(egress, folder, SOCKET_NAMES.egress);
    await listen(inbound, folder, SOCKET_NAMES.inbound);
  } catch (error) {
    close();
    throw error;
  } finally {
    closeSync(folder);
  }
  return { ready: idle.first, lost: idle.lost, connect: async (port) => request(await idle.take(), port), close };
}

/** Listens below an open folder: the path of a socket has at most 107 bytes, which the path of the folder could exceed. */
async function listen(server: Server, folder: number, name: string): Promise<void> {
  server.listen({ path: `/proc/self/fd/${folder}/${name}`, readableAll: true, writableAll: true });
  await once(server, 'listening');
}

/** Connections of the relay that wait for a port. */
function createIdle() {
  const first = Promise.withResolvers<undefined>();
  const lost = Promise.withResolvers<undefined>();
  const sockets: Socket[] = [];
  const waiting: ((socket: Socket) => void)[] = [];
  const all = new Set<Socket>();
  const add = (socket: Socket): void => {
    if (waiting.length === 0 && sockets.length >= MAX_IDLE) {
      socket.destroy();
      return;
    }
    all.add(socket);
    socket.on('error', () => undefined);
    socket.once('end', dropEnded);
    socket.resume(); // to notice the end
    socket.once('close', () => {
      all.delete(socket);
      const at = sockets.indexOf(socket);
      if (at === -1) return;
      sockets.splice(at, 1);
      lost.resolve(undefined); // a running relay keeps one open
    });
    first.resolve(undefined);
    const use = waiting.shift();
    if (use) use(socket);
    else sockets.push(socket);
  };
  const take = async (): Promise<Socket> => {
    if (all.size - sockets.length + waiting.length >= MAX_CONNECTIONS)
      throw new ConnectionLimitError(`the container has ${String(MAX_CONNECTIONS)} connections: try again later`);
    return sockets.shift() ?? next(waiting);
  };
  const close = (): void => {
    for (const socket of all) socket.destroy();
  };
  return { first: first.promise, lost: lost.promise, add, take, close };
}

/** Waits for the next connection of the relay. */
function next(waiting: ((socket: Socket) => void)[]): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const use = (socket: Socket): void => {
      clearTimeout(timer);
      resolve(socket);
    };
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(use), 1);
      reject(new Error('the relay of the isolated network does not answer'));
    }, ANSWER_TIMEOUT_MS);
    waiting.push(use);
  });
}

/** Closes a connection that the relay has ended before the server accepted it. */
function dropEnded(this: Socket): void {
  this.destroy();
}

/** Asks the relay to connect to `port`. The returned socket is paused. */
function request(socket: Socket, port: number): Promise<Socket> {
  const head = Buffer.alloc(2);
  head.writeUInt16BE(port);
  socket.write(head);
  return new Promise((resolve, reject) => {
    const fail = (): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(new Error(`nothing listens on port ${port} of the container`));
    };
    const timer = setTimeout(fail, ANSWER_TIMEOUT_MS);
    socket.once('close', fail);
    socket.once('data', (answer: Buffer) => {
      socket.pause();
      socket.off('close', fail);
      socket.off('end', dropEnded);
      if (answer[0] !== ACCEPTED) {
        fail();
        return;
      }
      clearTimeout(timer);
      if (answer.length > 1) socket.unshift(answer.subarray(1));
      resolve(socket);
    });
  });
}
